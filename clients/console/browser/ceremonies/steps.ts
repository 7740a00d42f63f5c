/** What a caller can step by hand in a session, by the stepping rule of the signing API: 0 stands for every node. Pure. */
import type { SandboxSession } from '../../../client/generated-api.ts';
import { type ConsoleAction, receiptInWords } from '../shared/actions.ts';
import { literal, operationCall } from '../shared/call.ts';

/** Session states in which a step does something. */
const open: readonly string[] = ['RECEIPT_STATE_ACCEPTED', 'RECEIPT_STATE_RESUMED'];

/** Why the page offers no steps; empty: it offers them. undefined: there is nothing left to step. */
export function whyNotStepped(read: SandboxSession | null | undefined): string | undefined {
  if (read === undefined) return undefined;
  if (read === null) return 'It is another tenant’s: only a token of that tenant steps it. Enter one under Tenants.';
  const isOpen = open.includes(read.state) || read.resume_token !== null;
  if (!isOpen) return undefined;
  if (read.requested_by === 'wallet_service') {
    const what = read.kind === 'dkg' ? 'makes this key' : 'asked for this signature';
    return `The wallet service ${what}, for a wallet or a vault: it takes every step itself, and no client does.`;
  }
  if (read.resume_token !== null) return 'It is paused: resume it, then step it.';
  return '';
}

/** The pairs of a key generation that have verified, by dealer. */
export function verifiedBy(read: Pick<SandboxSession, 'verified_pairs'>): ReadonlyMap<number, ReadonlySet<number>> {
  const verified = new Map<number, Set<number>>();
  for (const pair of read.verified_pairs) {
    const [dealer = 0, recipient = 0] = pair.split('>').map(Number);
    verified.set(dealer, (verified.get(dealer) ?? new Set()).add(recipient));
  }
  return verified;
}

/** Node `dealer` deals, and node `recipient` verifies; 0: every node. */
export function exchange(id: string, dealer: number, recipient: number): ConsoleAction {
  const body = {
    session_id: id,
    ...(dealer !== 0 && { sender_node_id: dealer }),
    ...(recipient !== 0 && { recipient_node_id: recipient }),
  };
  const who = dealer === 0 ? 'every node deals' : `node ${dealer} deals`;
  const name = `${who} to ${recipient === 0 ? 'every node' : `node ${recipient}`}`;
  return {
    name,
    call: operationCall(`${id}: ${name}`, ['signing', 'exchangeDkgShares'], [], body),
    send: async ({ signing }) => {
      const { verified, receipt } = await signing.exchangeDkgShares(body);
      if (!verified) throw new Error(receiptInWords(receipt));
      return receiptInWords(receipt);
    },
  };
}

/** Node `node` gives its partial signature; 0: nodes are asked until the signature is complete. */
export function partial(id: string, node: number): ConsoleAction {
  const body = { signing_session_id: id, ...(node !== 0 && { node_id: node }) };
  const name = node === 0 ? 'every node answers' : `node ${node} answers`;
  return {
    name,
    call: operationCall(`${id}: ${name}`, ['signing', 'submitSignatureShare'], [], body),
    send: async ({ signing }) => {
      const { receipt } = await signing.submitSignatureShare(body);
      const isGood = /_(ACCEPTED|COMPLETED)$/.test(receipt?.state ?? '');
      if (!isGood) throw new Error(receiptInWords(receipt));
      return receiptInWords(receipt);
    },
  };
}

/** Opens the generation of a key, and steps nothing. */
export function beginKey(keyId: string, nodes: number): ConsoleAction {
  const totalNodes = Math.min(5, nodes);
  const body = { session_id: keyId, threshold: Math.min(3, totalNodes), total_nodes: totalNodes };
  return {
    name: 'Begin a key',
    call: operationCall(`Begin the key ${keyId}`, ['signing', 'initiateDkg'], [], body),
    send: async ({ signing }) => opened((await signing.initiateDkg(body)).receipt),
  };
}

/** Opens a signature, and steps nothing; resolves with its session. `message`: the digest in base64. */
export function beginSignature(
  keyId: string,
  intentId: string,
  message: string,
  began: (session: string) => void,
): ConsoleAction {
  const body = { transaction_intent_id: intentId, wallet_id: keyId, message_hash: message };
  return {
    name: 'Sign step by step',
    call: operationCall(`Begin a signature with ${literal(keyId)}`, ['signing', 'initiateSigning'], [], body),
    send: async ({ signing }) => {
      const { signing_session_id: session, receipt } = await signing.initiateSigning(body);
      const words = opened(receipt);
      began(session);
      return words;
    },
  };
}

function opened(receipt: (Parameters<typeof receiptInWords>[0] & { readonly state?: string }) | null): string {
  if (receipt?.state !== 'RECEIPT_STATE_ACCEPTED') throw new Error(receiptInWords(receipt));
  return receiptInWords(receipt);
}
