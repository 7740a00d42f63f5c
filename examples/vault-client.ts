/**
 * Vaults with nothing but `fetch`: a key that five nodes make together, signatures that Node's own cryptography verifies, a
 * message that a policy refuses, and the end of the key.
 *
 *     npm start                               # in one terminal
 *     node dist/examples/vault-client.js      # in another
 *
 * Options, or the environment variables in brackets: --url [BASE_URL], --token [TOKEN]. Exit code 0: everything verifies. 1:
 * something failed. 2: a wrong call of this program.
 */
import { createPublicKey, type JsonWebKey, randomUUID, verify } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { parseArgs } from 'node:util';

/** The public token of a fresh sandbox. */
const sandboxToken = 'svc_sk_test_sandboxTokenForEveryoneToUse001PqAfG';
const patienceMs = 60_000;

/** Fields that this program does not read are left out. */
interface Vault {
  readonly id: string;
  readonly primary_key_id: string;
}

interface Key {
  readonly id: string;
  readonly status: string;
  readonly jwk: JsonWebKey;
  readonly addresses: readonly { readonly network: string; readonly address: string }[];
}

interface Signature {
  readonly status: string;
  readonly signature: string | null;
  readonly reason: string;
}

interface Settings {
  readonly url: string;
  readonly token: string;
}

async function main({ url, token }: Settings): Promise<void> {
  async function call<T>(method: string, path: string, body?: object, idempotencyKey = randomUUID()): Promise<T> {
    const response = await fetch(new URL(path, url), {
      method,
      headers: {
        authorization: `Bearer ${token}`,
        // So a repeat after a lost answer is the same request: a message is never signed twice.
        ...(method === 'POST' && { 'idempotency-key': idempotencyKey }),
        ...(body && { 'content-type': 'application/json' }),
      },
      ...(body && { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`);
    return JSON.parse(text) as T;
  }
  const keyOf = async ({ id }: Vault): Promise<Key> => {
    const { keys } = await call<{ keys: readonly Key[] }>('GET', `/v1/vaults/${id}/keys`);
    return keys[0]!;
  };

  const terms = { keystore_type: 'mpc_frost', curve: 'ed25519', threshold: 3, total_nodes: 5 };
  const vault = await call<Vault>('POST', '/v1/vaults', { name: 'settlement', ...terms });
  const key = await keyOf(vault);
  print('vault', vault.id);
  print('key', `of five nodes, ${key.addresses[0]?.address}`);

  const message = Buffer.from(`order ${randomUUID()}`);
  const asked = { key_id: key.id, message: message.toString('base64'), message_type: 'raw' };
  const once = randomUUID();
  const signed = await call<Signature>('POST', `/v1/vaults/${vault.id}/sign`, asked, once);
  const again = await call<Signature>('POST', `/v1/vaults/${vault.id}/sign`, asked, once);
  const publicKey = createPublicKey({ format: 'jwk', key: key.jwk });
  const isGood = verify(null, message, publicKey, Buffer.from(signed.signature ?? '', 'base64'));
  if (!isGood || signed.signature !== again.signature)
    throw new Error('the signature does not verify, or was made twice');
  print('signed', 'yes: it verifies with Node’s own cryptography, and a repeat gave the same signature');

  const policy = `no-messages-${randomUUID()}`;
  const when = 'tx.kind == "message"';
  await call('POST', '/v1/policies', { name: policy, rules: [{ id: 'messages', effect: 'deny', when }] });
  const guarded = await call<Vault>('POST', '/v1/vaults', { name: 'guarded', policy, ...terms });
  const refused = await call<Signature>('POST', `/v1/vaults/${guarded.id}/sign`, {
    ...asked,
    key_id: guarded.primary_key_id,
  });
  if (refused.status !== 'denied') throw new Error(`the policy did not hold: ${refused.status}`);
  print('denied', refused.reason);

  await call('POST', `/v1/vaults/${vault.id}/archive`, { reason: 'the example is over' });
  const deadline = Date.now() + patienceMs;
  while ((await keyOf(vault)).status !== 'deleted') {
    if (Date.now() > deadline) throw new Error('the nodes have not deleted their shares in time');
    await pause(100);
  }
  print('archived', 'every node has deleted its share');
}

function print(name: string, value: string): void {
  process.stdout.write(`${name.padEnd(12)} ${value}\n`);
}

function options(): Settings {
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
  process.stderr.write(`vault-client: ${text}${cause}\n`);
  process.exit(exitCode);
}

try {
  const settings = options();
  await main(settings).catch((error: unknown) => fail(error, 1));
} catch (error) {
  fail(error, 2);
}
