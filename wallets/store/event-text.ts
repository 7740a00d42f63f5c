/**
 * The stored form of an event's object. Seven events show a transfer's progress, each with the whole transfer, and they are
 * similar: so the store deflates (RFC 1951) larger objects over a dictionary of typical content, to a quarter of their JSON.
 * Clients get the original bytes. It also packs answers stored under idempotency keys, which show the same objects, and records
 * that rarely change (`isPacked` of their type).
 *
 * A policy receipt is a JWT: its base64 contains no repetition, the JSON inside is highly repetitive. So packing decodes it
 * first, and unpacking encodes it again; a receipt that would not come back byte for byte stays encoded.
 *
 * A packed object begins with the number of its dictionary ("2"); JSON of an object begins with a brace. A dictionary never
 * changes once it is in use: a better one gets the next number, and the old one stays.
 */
import { deflateRawSync, inflateRawSync } from 'node:zlib';

/** Smaller objects gain too little for the time: those of signing sessions, which are the most frequent, stay plain. */
const packedFromChars = 1_200;
/** The limit of an unpacked object: 1 MiB as JSON, the store's limit, with some margin. */
const objectBytesMax = 4 * 1024 * 1024;

const id = '01a20000-0000-7000-8000-000000000000';
const at = '2026-11-22T22:00:00.000Z';
const address = '0x0000000000000000000000000000000000000000';

/** Header and claims of a receipt. */
const receipt = [
  `{"alg":"EdDSA","typ":"policy-receipt+jwt","kid":"00000000000000000000000000000000000000000000"}`,
  `{"iss":"signmesh","iat":1795384894,"jti":"dec_${id}","sub":"txi_${id}","purpose":"transaction_intent","tenant":"tn_sandbox","decision":"allow","policy":{"name":"default","id":"pol_00000000-0000-7b9c-9242-7ecf9e07bb35","version":1},"matched_rules":["clear"],"risk_score":0,"transaction":{"wallet_id":"wal_${id}","kind":"transfer","asset":"ETH","amount":"0.00001","network":"eip155:11155111","to":"${address}"}}`,
];

/** The most frequent text comes last: it is nearest, so references to it are shortest. */
const shown = (shownReceipt: string): string =>
  [
    `{"id":"wal_${id}","name":"","provider":"sandbox","provider_connection_id":"pcn_${id}","provider_wallet_id":"wal_${id}","status":"active","environment":"sandbox","network":"eip155:11155111","addresses":[{"network":"eip155:11155111","address":"${address}"}],"public_key":"03","key_scheme":"mock_ecdsa","key_exposed":true,"assets":[{"symbol":"ETH","balance":"10","available":"10","pending":"0","network":"eip155:11155111","decimals":18,"contract":null},{"symbol":"USDC","balance":"10000","available":"10000","pending":"0","network":"eip155:11155111","decimals":6,"contract":"0x1c7D4B196Cb0C7B01d743Fbc6116a902379C7238"}],"approval_mode":"unspecified","signing_api":"allowed","policy":null,"external_id":null,"metadata":{},"version":1,"created_at":"${at}","updated_at":"${at}","archived_at":null,"archive_reason":null}`,
    `"status":"pending_approval","sub_status":"AWAITING_QUORUM","failed","rejected","cancelled","USDC","solana:devnet","bip122:000000000933ea01ad0ee984209779ba"`,
    `{"id":"txi_${id}","kind":"transfer","status":"created","policy_receipt":"${shownReceipt}","risk_score":0,"provider_tx_id":null,"sub_status":null,"wallet_id":"wal_${id}","provider":"self_hosted","provider_connection_id":"pcn_${id}","network":"eip155:11155111","asset":"ETH","amount":"0.00001","from_address":"${address}","destination":{"address":"${address}"},"token":null,"origin":null,"fee":{"asset":"ETH","reserved":"0.000063","paid":"0.000042"},"policy":{"name":"default","id":"pol_00000000-0000-7b9c-9242-7ecf9e07bb35","version":1},"decision_id":"dec_${id}","screening_id":"scr_${id}","initiator":"tok_sandbox","approvals":[],"approvals_required":0,"approvers":[],"provider_status":"CONFIRMED","provider_error":null,"provider_details":{"raw_transaction":"0x02f87383aa36a708843b9aca0084b2d05e0082520894008609184e72a00080c001a0a0","signing_session_ids":["sig_${id}"],"receipt":{"status":"success","contract_address":null,"logs":[]}},"gap_transaction":null,"cancellation":null,"metadata":{},"status_history":[{"status":"created","sub_status":null,"at":"${at}"},{"status":"screening","sub_status":null,"at":"${at}"},{"status":"approved","sub_status":null,"at":"${at}"},{"status":"signing","sub_status":null,"at":"${at}"},{"status":"broadcasting","sub_status":null,"at":"${at}"},{"status":"confirming","sub_status":null,"at":"${at}"},{"status":"completed","sub_status":null,"at":"${at}"}],"version":1,"created_at":"${at}","updated_at":"${at}","expires_at":"${at}"}`,
  ].join('');

/** Records contain first decisions, then intents. */
const records = [
  `{"id":"dec_${id}","version":1,"txId":"txi_${id}","connectionId":"pcn_${id}","by":"tok_sandbox","subject":{"type":"address","address":"${address}","network":"eip155:11155111","name":null},"details":null,"transaction":{"walletId":"wal_${id}","asset":"ETH","amount":"0.00001","network":"eip155:11155111","to":"${address}"},"screening":{"id":"scr_${id}","reportId":"rep_${id}","decision":"clear","riskScore":0,"matches":[],"listVersions":{"test_sanctions":1,"test_watch":1}},"risk":{"txId":"txi_${id}","score":0,"level":"low","action":"allow","factors":[],"rulesVersion":1},"decision":{"id":"dec_${id}","decision":"allow","matchedRules":["clear"],"trace":[{"rule":"blocked","effect":"deny","matched":false,"result":"false"},{"rule":"review","effect":"require_approval","matched":false,"result":"false"},{"rule":"clear","effect":"allow","matched":true,"result":"true"}],"reason":"allowed by rule clear","policy":{"name":"default","id":"pol_00000000-0000-7b9c-9242-7ecf9e07bb35","version":1},"mode":"enforce"},"createdAtMs":1795410352919}`,
  `"feeReserve":{"asset":"ETH","units":"63000000000000"},"decisionId":"dec_${id}","policyReceipt":"","riskScore":0,"correlationId":"req_${id}","version":4,"status":"completed","subStatus":null,"approvalsRequired":0,"feePaid":{"asset":"ETH","units":"42000000000000"},"providerTxId":"0x","providerStatus":"CONFIRMED","providerError":null,"submission":{"hash":"0x","signingSessionIds":["sig_${id}"],"rawTransaction":"0x02f87383aa36a7","receipt":{"status":"success","contractAddress":null,"logs":[]}},"attempts":0,"statusHistory":[{"status":"created","subStatus":null,"atMs":1795410352919},{"status":"screening","subStatus":null,"atMs":1795410352919}],"createdAtMs":1795410352919,"updatedAtMs":1795410354007,"expiresAtMs":1795496752919}`,
].join('');

const dictionaries: Readonly<Record<string, Buffer>> = {
  1: Buffer.from(shown(`${receipt.map((part) => Buffer.from(part).toString('base64url')).join('.')}.`)),
  2: Buffer.from(records + shown(`\x01${receipt.join('\x02')}\x03`)),
};
const mark = '2';

/** A window of 8 KiB holds the dictionary and most objects; a small memory is cheaper to set up. */
const options = { level: 3, windowBits: 13, memLevel: 6, dictionary: dictionaries[mark] };

/**
 * A model of packing, for a simulated world: the store holds an object's place in this table, so equal objects have equal texts, as
 * packed ones do. It lives as long as its world: nothing else can read the places.
 */
export class ObjectTable {
  readonly #places = new Map<string, number>();
  readonly #objects: string[] = [];

  /** The place of the text. */
  place(json: string): number {
    const known = this.#places.get(json);
    if (known !== undefined) return known;
    this.#places.set(json, this.#objects.length);
    return this.#objects.push(json) - 1;
  }

  /** Throws for a place that it did not give. */
  at(place: number): string {
    const json = this.#objects[place];
    if (json === undefined) throw new Error(`there is no object at ${place}`);
    return json;
  }
}

let table: ObjectTable | undefined;
const placeMark = 't';

/**
 * Chooses a table instead of packing, until the returned function is called; undefined: objects are packed. A world chooses for each
 * turn of its loop, like its cryptography (core/crypto/model/switch.ts): to pack and unpack is a tenth of its time.
 */
export function holdObjects(chosen: ObjectTable | undefined): () => void {
  const before = table;
  table = chosen;
  return () => {
    table = before;
  };
}

export function packObject(json: string): string {
  if (json.length < packedFromChars) return json;
  if (table !== undefined) return `${placeMark}${table.place(json)}`;
  return mark + deflateRawSync(openReceipt(json), options).toString('base64');
}

/** The JSON. Throws unless `packObject` made the input. */
export function unpackObject(stored: string): string {
  if (table !== undefined && stored.startsWith(placeMark)) return table.at(Number(stored.slice(placeMark.length)));
  const dictionary = dictionaries[stored[0] ?? ''];
  if (dictionary === undefined) return stored;
  const packed = Buffer.from(stored.slice(mark.length), 'base64');
  const text = inflateRawSync(packed, { dictionary, maxOutputLength: objectBytesMax }).toString();
  return stored.startsWith('1') ? text : closeReceipt(text);
}

/** The field's name in views, and in records. */
const receiptFields = ['"policy_receipt":"', '"policyReceipt":"'];

/** Control characters mark the replaced parts: JSON contains none unescaped. */
function openReceipt(json: string): string {
  for (const field of receiptFields) {
    const from = json.indexOf(field) + field.length;
    if (from < field.length) continue;
    const to = json.indexOf('"', from);
    const parts = json.slice(from, to).split('.');
    if (parts.length !== 3) return json;
    const [head, claims] = parts.slice(0, 2).map((part) => Buffer.from(part, 'base64url').toString());
    const open = `\x01${head}\x02${claims}\x03`;
    const isWhole = closeReceipt(open) === `${parts[0]}.${parts[1]}.`;
    return isWhole ? json.slice(0, from) + open + parts[2] + json.slice(to) : json;
  }
  return json;
}

function closeReceipt(text: string): string {
  const [from, between, to] = ['\x01', '\x02', '\x03'].map((mark) => text.indexOf(mark));
  if (from === undefined || from < 0 || between! < from || to! < between!) return text;
  const parts = [text.slice(from + 1, between), text.slice(between! + 1, to)];
  const closed = parts.map((part) => `${Buffer.from(part).toString('base64url')}.`).join('');
  return text.slice(0, from) + closed + text.slice(to! + 1);
}
