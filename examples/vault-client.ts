/**
 * Vaults with `signmesh/client`: a key that five nodes make together, signatures that Node's own cryptography verifies, a
 * message that a policy refuses, and the end of the key.
 *
 *     npm start                               # in one terminal
 *     node dist/examples/vault-client.js      # in another
 *
 * Options, or the environment variables in brackets: --url [BASE_URL], --token [TOKEN]. Exit code 0: everything verifies. 1:
 * something failed. 2: a wrong call of this program.
 */
import { createPublicKey, randomUUID, verify } from 'node:crypto';
import { parseArgs } from 'node:util';
import { createClient } from 'signmesh/client';

/** The public token of a fresh sandbox. */
const sandboxToken = 'svc_sk_test_sandboxTokenForEveryoneToUse001PqAfG';

interface Settings {
  readonly url: string;
  readonly token: string;
}

async function main({ url, token }: Settings): Promise<void> {
  const client = createClient({ baseUrl: url, token });
  // A sandbox grants access to the module at once.
  const { modules } = await client.modules.list();
  const { access } = modules.find(({ module }) => module === 'vaults')!;
  if (access === 'by_request') await client.modules.requestAccess('vaults');
  const keyOf = async (vaultId: string) => (await client.vaults.keys(vaultId).toArray(1))[0]!;

  const terms = { keystore_type: 'mpc_frost', curve: 'ed25519', threshold: 3, total_nodes: 5 } as const;
  const vault = await client.vaults.create({ name: 'settlement', ...terms });
  const key = await keyOf(vault.id);
  print('vault', vault.id);
  print('key', `of five nodes, ${key.addresses[0]?.address}`);

  const message = Buffer.from(`order ${randomUUID()}`);
  const asked = { key_id: key.id, message: message.toString('base64'), message_type: 'raw' } as const;
  // A repeat under the same key is the same request: a message is never signed twice.
  const idempotencyKey = randomUUID();
  const signed = await client.vaults.sign(vault.id, asked, { idempotencyKey });
  const again = await client.vaults.sign(vault.id, asked, { idempotencyKey });
  const publicKey = createPublicKey({ format: 'jwk', key: { ...key.jwk } });
  const isGood = verify(null, message, publicKey, Buffer.from(signed.signature ?? '', 'base64'));
  if (!isGood || signed.signature !== again.signature)
    throw new Error('the signature does not verify, or was made twice');
  print('signed', 'yes: it verifies with Node’s own cryptography, and a repeat gave the same signature');

  const policy = `no-messages-${randomUUID()}`;
  const when = 'tx.kind == "message"';
  await client.policies.put({ name: policy, rules: [{ id: 'messages', effect: 'deny', when }] });
  const guarded = await client.vaults.create({ name: 'guarded', policy, ...terms });
  const refused = await client.vaults.sign(guarded.id, { ...asked, key_id: guarded.primary_key_id });
  if (refused.status !== 'denied') throw new Error(`the policy did not hold: ${refused.status}`);
  print('denied', refused.reason);

  await client.vaults.archive(vault.id, { reason: 'the example is over' });
  await client.waitUntil(
    () => keyOf(vault.id),
    ({ status }) => status === 'deleted',
  );
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
  process.stderr.write(`vault-client: ${error instanceof Error ? error.message : String(error)}\n`);
  process.exit(exitCode);
}

try {
  const settings = options();
  await main(settings).catch((error: unknown) => fail(error, 1));
} catch (error) {
  fail(error, 2);
}
