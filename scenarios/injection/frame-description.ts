/** What a frame asks or says, in words. Public: its kind alone, never what is in it. */
import type { Point } from '../faults/vocabulary/trigger-points.ts';

export const frameWords: Readonly<Record<Point, string>> = {
  call: 'a client’s call',
  call_reply: 'the answer to a call',
  cluster_status: 'who is there',
  deal_nonces: 'asks for nonce commitments',
  nonces_dealt: 'nonce commitments',
  partial_request: 'asks for a partial signature',
  partial_reply: 'a partial signature, or why there is none',
  vendor_settled: 'the outcome of an order at the vendor',
  vendor_noted: 'the session acknowledges it',
  dkg_open: 'asks for commitments',
  dkg_opened: 'commitments',
  dkg_seal: 'asks for sealed shares',
  dkg_sealed: 'sealed shares',
  dkg_verify: 'shares to verify',
  dkg_verified: 'the verdicts about shares',
  dkg_confirm: 'the group key to confirm',
  dkg_confirmed: 'the group key is confirmed',
  dkg_discard: 'the key is to be discarded',
  dkg_refused: 'a refusal',
};
