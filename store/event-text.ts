/**
 * The object of an event as it is stored. Seven events show a transfer as it goes, each whole, and one is much like another: so
 * the larger ones are deflated (RFC 1951) over a dictionary of what such objects hold, and take a quarter of their JSON. Clients
 * see the same bytes as before. Answers that are kept under idempotency keys show the same objects, and are packed likewise.
 *
 * A packed object begins with the number of its dictionary ("1"); JSON of an object begins with a brace. A dictionary never
 * changes once something was packed over it: a better one gets the next number, and this one stays.
 */
import { deflateRawSync, inflateRawSync } from 'node:zlib';

/** Smaller objects gain too little for the time it takes: those of signing sessions, of which there are most, stay plain. */
const packedFromChars = 1_200;
const mark = '1';
/** Of an object: 1 MiB as JSON, as the store bounds it, and room. */
const objectBytesMax = 4 * 1024 * 1024;

const id = '01a20000-0000-7000-8000-000000000000';
const at = '2026-11-22T22:00:00.000Z';
const address = '0x0000000000000000000000000000000000000000';

/** A policy receipt is a JWT: its parts are in base64, where equal texts are equal at equal places alone. */
const receipt = [
  `{"alg":"EdDSA","typ":"policy-receipt+jwt","kid":"00000000000000000000000000000000000000000000"}`,
  `{"iss":"signmesh","iat":1795384894,"jti":"dec_${id}","sub":"txi_${id}","purpose":"transaction_intent","tenant":"tn_sandbox","decision":"allow","policy":{"name":"default","id":"pol_00000000-0000-7b9c-9242-7ecf9e07bb35","version":1},"matched_rules":["clear"],"risk_score":0,"transaction":{"wallet_id":"wal_${id}","kind":"transfer","asset":"ETH","amount":"0.00001","network":"eip155:11155111","to":"${address}"}}`,
].map((part) => Buffer.from(part).toString('base64url'));

/** What comes most often stands last: it is nearest, and costs least to name. */
const dictionary = Buffer.from(
  [
    `{"id":"wal_${id}","name":"","provider":"sandbox","provider_connection_id":"pcn_${id}","provider_wallet_id":"wal_${id}","status":"active","environment":"sandbox","network":"eip155:11155111","addresses":[{"network":"eip155:11155111","address":"${address}"}],"public_key":"03","key_scheme":"mock_ecdsa","key_exposed":true,"assets":[{"symbol":"ETH","balance":"10","available":"10","pending":"0","network":"eip155:11155111","decimals":18,"contract":null},{"symbol":"USDC","balance":"10000","available":"10000","pending":"0","network":"eip155:11155111","decimals":6,"contract":"0x1c7D4B196Cb0C7B01d743Fbc6116a902379C7238"}],"approval_mode":"unspecified","signing_api":"allowed","policy":null,"external_id":null,"metadata":{},"version":1,"created_at":"${at}","updated_at":"${at}","archived_at":null,"archive_reason":null}`,
    `"status":"pending_approval","sub_status":"AWAITING_QUORUM","failed","rejected","cancelled","USDC","solana:devnet","bip122:000000000933ea01ad0ee984209779ba"`,
    `{"id":"txi_${id}","kind":"transfer","status":"created","policy_receipt":"${receipt.join('.')}.","risk_score":0,"provider_tx_id":null,"sub_status":null,"wallet_id":"wal_${id}","provider":"self_hosted","provider_connection_id":"pcn_${id}","network":"eip155:11155111","asset":"ETH","amount":"0.00001","from_address":"${address}","destination":{"address":"${address}"},"token":null,"origin":null,"fee":{"asset":"ETH","reserved":"0.000063","paid":"0.000042"},"policy":{"name":"default","id":"pol_00000000-0000-7b9c-9242-7ecf9e07bb35","version":1},"decision_id":"dec_${id}","screening_id":"scr_${id}","initiator":"tok_sandbox","approvals":[],"approvals_required":0,"approvers":[],"provider_status":"CONFIRMED","provider_error":null,"provider_details":{"raw_transaction":"0x02f87383aa36a708843b9aca0084b2d05e0082520894008609184e72a00080c001a0a0","signing_session_ids":["sig_${id}"],"receipt":{"status":"success","contract_address":null,"logs":[]}},"gap_transaction":null,"cancellation":null,"metadata":{},"status_history":[{"status":"created","sub_status":null,"at":"${at}"},{"status":"screening","sub_status":null,"at":"${at}"},{"status":"approved","sub_status":null,"at":"${at}"},{"status":"signing","sub_status":null,"at":"${at}"},{"status":"broadcasting","sub_status":null,"at":"${at}"},{"status":"confirming","sub_status":null,"at":"${at}"},{"status":"completed","sub_status":null,"at":"${at}"}],"version":1,"created_at":"${at}","updated_at":"${at}","expires_at":"${at}"}`,
  ].join(''),
);

/** A window of 8 KiB holds the dictionary and most objects; so little memory costs less to set up. */
const options = { level: 3, windowBits: 13, memLevel: 6, dictionary };

export function packObject(json: string): string {
  if (json.length < packedFromChars) return json;
  return mark + deflateRawSync(json, options).toString('base64');
}

/** The JSON. Throws for what `packObject` did not make. */
export function unpackObject(stored: string): string {
  if (!stored.startsWith(mark)) return stored;
  const packed = Buffer.from(stored.slice(mark.length), 'base64');
  return inflateRawSync(packed, { dictionary, maxOutputLength: objectBytesMax }).toString();
}
