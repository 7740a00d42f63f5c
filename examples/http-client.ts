/**
 * The signing API over HTTP, with nothing but `fetch`: a key made by five nodes, an ECDSA signature by three of them,
 * and a check by an independent library.
 *
 *     npm start                                # in one terminal
 *     node dist/examples/http-client.js        # in another
 *
 * Options, or the environment variables in brackets: --url [BASE_URL], --token [TOKEN]. Exit code 0: the signature
 * verifies. 1: something failed. 2: a wrong call of this program.
 */
import { createHash } from 'node:crypto';
import { parseArgs } from 'node:util';
import { secp256k1 } from '@noble/curves/secp256k1.js';

/** The public token of a fresh sandbox. Any other `svc_sk_test_…` opens a tenant of its own. */
const sandboxToken = 'svc_sk_test_sandboxTokenForEveryoneToUse001PqAfG';

/** What every response carries. Fields that this program does not read are left out. */
interface Receipt {
  readonly state: string;
  readonly reason_code: string;
  readonly message: string;
}

interface DkgResponse {
  readonly session_id: string;
  readonly receipt: Receipt;
}

interface Events {
  readonly events: readonly { readonly data: { readonly object: { readonly public_key: string } } }[];
}

interface SigningResponse {
  readonly signing_session_id: string;
  readonly receipt: Receipt;
}

interface ShareResponse extends SigningResponse {
  readonly is_complete: boolean;
  /** Base64, 64 bytes: r ‖ s. */
  readonly full_signature: string;
  /** Base64, one byte. */
  readonly recovery_id: string;
}

async function main(url: string, token: string): Promise<void> {
  /** Transport errors throw; everything else is in the receipt. */
  async function call<T>(path: string, body?: object): Promise<T> {
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
    const context = { client: { client_name: 'http-example', contract_version: '1.0' } };
    const post = { method: 'POST', headers, body: JSON.stringify({ ...body, context }) };
    const response = await fetch(new URL(path, url), body === undefined ? { headers } : post);
    if (!response.ok) throw new Error(`${path} answers ${response.status}: ${await response.text()}`);
    return (await response.json()) as T;
  }

  // A key. Without a session id the server makes one; 0 of 0 means 3 of 5.
  const dkg = await call<DkgResponse>('/v1/dkg/initiate', { derivation: { curve: 'secp256k1' } });
  expectState(dkg.receipt, 'RECEIPT_STATE_ACCEPTED');
  const keyId = dkg.session_id;
  const made = await call<DkgResponse>('/v1/dkg/shares', { session_id: keyId });
  expectState(made.receipt, 'RECEIPT_STATE_BACKEND_COMPLETED');
  // The event of the key has the public key: compressed, hex.
  const { events } = await call<Events>(`/v1/events?type=dkg.session.completed&resource_id=${keyId}`);
  const publicKey = Buffer.from(events[0]?.data.object.public_key ?? '', 'hex');
  print('key', `${keyId} (secp256k1, 3 of 5)`);
  print('public key', publicKey.toString('hex'));

  // A signature. One intent is signed once, so every run names its own.
  const digest = createHash('sha256').update('hello from an HTTP client').digest();
  const session = await call<SigningResponse>('/v1/signing/initiate', {
    transaction_intent_id: `intent-of-${keyId}`,
    wallet_id: keyId,
    message_hash: digest.toString('base64'),
  });
  expectState(session.receipt, 'RECEIPT_STATE_ACCEPTED');
  const signed = await call<ShareResponse>('/v1/signing/share', { signing_session_id: session.signing_session_id });
  expectState(signed.receipt, 'RECEIPT_STATE_BACKEND_COMPLETED');
  const signature = Buffer.from(signed.full_signature, 'base64');
  const recoveryId = Buffer.from(signed.recovery_id, 'base64');
  print('digest', digest.toString('hex'));
  print('signature', signature.toString('hex'));

  // The check: under the group key, low-s, and the key can be recovered from the signature, as EVM chains do.
  const verifies = secp256k1.verify(signature, digest, publicKey, { prehash: false, lowS: true });
  const recovered = secp256k1.recoverPublicKey(Buffer.concat([recoveryId, signature]), digest, { prehash: false });
  if (!verifies || !publicKey.equals(recovered)) throw new Error('the signature does not verify');
  print('verified', 'yes, and the public key recovers from it');
}

function expectState(receipt: Receipt, state: string): void {
  if (receipt.state === state) return;
  throw new Error(`${receipt.state} ${receipt.reason_code}: ${receipt.message}`);
}

function print(name: string, value: string): void {
  process.stdout.write(`${name.padEnd(12)} ${value}\n`);
}

function options(): { readonly url: string; readonly token: string } {
  const { BASE_URL: url = 'http://127.0.0.1:8080', TOKEN: token = sandboxToken } = process.env;
  const { values } = parseArgs({
    options: { url: { type: 'string', default: url }, token: { type: 'string', default: token } },
  });
  if (!URL.canParse(values.url)) throw new TypeError(`--url is not a URL: ${values.url}`);
  return values;
}

function fail(error: unknown, exitCode: number): never {
  const text = error instanceof Error ? error.message : String(error);
  // fetch says only that it failed; the reason is below.
  const cause = error instanceof Error && error.cause instanceof Error ? ` (${error.cause.message})` : '';
  process.stderr.write(`http-client: ${text}${cause}\n`);
  process.exit(exitCode);
}

try {
  const { url, token } = options();
  await main(url, token).catch((error: unknown) => fail(error, 1));
} catch (error) {
  fail(error, 2);
}
