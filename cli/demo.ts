/**
 * `signmesh demo`: five nodes make a key and three of them a signature; it draws the messages, and an independent library
 * (@noble/curves) verifies the signature.
 *
 * It starts its own cluster and stops it at the end.
 */
import { createHash } from 'node:crypto';
import { ed25519 } from '@noble/curves/ed25519.js';
import { secp256k1 } from '@noble/curves/secp256k1.js';
import type { DiagnosticReceipt } from '../clients/client/generated-api.ts';
import { exitCodes, Failure } from './common/failure.ts';
import { DemoCluster } from './demo/cluster.ts';
import { Diagram, type Row, rowsOf } from './demo/diagram.ts';

const nodes = 5;

/** Resolves with an exit code: 0 when every signature verified. */
export async function run(args: readonly string[]): Promise<number> {
  if (args.length === 1 && (args[0] === '--help' || args[0] === '-h')) {
    say('Usage: signmesh demo\n');
    say('A key made by five nodes and a signature made by three of them, on each curve, drawn message by message.');
    say('It starts its own cluster and stops it at the end.');
    return exitCodes.ok;
  }
  if (args.length > 0) throw new Failure('The demo takes no arguments.', exitCodes.usage);
  say('Starting a cluster for the demo: Redis, a coordinator, five nodes, a gateway …');
  const cluster = await DemoCluster.start();
  const interrupt = () => void cluster.stop().then(() => process.exit(exitCodes.interrupted));
  process.once('SIGINT', interrupt).once('SIGTERM', interrupt);
  try {
    const verdicts = [await ceremony(cluster, 'secp256k1'), await ceremony(cluster, 'ed25519')];
    const verified = verdicts.every((verdict) => verdict);
    say(
      verified ? '\nBoth signatures verify. M0 is a mock: never guard real funds with it.' : '\nA signature is wrong.',
    );
    return verified ? exitCodes.ok : exitCodes.failed;
  } finally {
    await cluster.stop();
  }
}

/** One key and one signature; returns whether it verifies. */
async function ceremony(cluster: DemoCluster, curve: 'secp256k1' | 'ed25519'): Promise<boolean> {
  const { client } = cluster;
  const diagram = new Diagram(nodes);
  const session = `demo-${curve}`;
  const scheme = curve === 'secp256k1' ? 'mock threshold ECDSA' : 'FROST(Ed25519, SHA-512)';
  say(`\n── ${curve}: distributed key generation, 3 of 5 ─────────────────────────────\n`);
  say(diagram.header());
  const initiated = await client.signing.initiateDkg({ session_id: session, derivation: { curve } });
  draw(diagram, 'InitiateDkg', [], receiptOf(initiated).reason_code);
  const made = receiptOf(await client.signing.exchangeDkgShares({ session_id: session }));
  draw(diagram, 'ExchangeDkgShares', rowsOf(cluster.frames(session)), made.reason_code);
  const publicKey = Buffer.from((await client.sandbox.session(session)).public_key ?? '', 'hex');
  say(`\n  ${made.message}`);

  say(`\n── ${curve}: a signature by ${scheme} ─────────────────────────────\n`);
  say(diagram.header());
  const text = `signmesh demo, ${curve}`;
  const message = createHash('sha256').update(text).digest();
  const begun = await client.signing.initiateSigning({
    transaction_intent_id: session,
    wallet_id: session,
    message_hash: message.toString('base64'),
  });
  draw(diagram, 'InitiateSigning', [], receiptOf(begun).reason_code);
  const id = begun.signing_session_id;
  const signed = await client.signing.submitSignatureShare({ signing_session_id: id });
  draw(diagram, 'SubmitSignatureShare', rowsOf(cluster.frames(id)), receiptOf(signed).reason_code);
  const signature = Buffer.from(signed.full_signature, 'base64');
  say(`\n  message    SHA-256("${text}") = ${message.toString('hex')}`);
  say(`  signature  ${signature.toString('hex')}`);

  const verify = (bytes: Uint8Array) =>
    curve === 'secp256k1'
      ? secp256k1.verify(signature, bytes, publicKey, { prehash: false })
      : ed25519.verify(signature, bytes, publicKey);
  const holds = verify(message);
  const other = createHash('sha256').update('another message').digest();
  const forged = verify(other);
  say(`  @noble/curves: the signature ${holds ? 'verifies' : 'DOES NOT VERIFY'} under the group public key`);
  say(`  @noble/curves: for another message it ${forged ? 'VERIFIES TOO' : 'does not'}`);
  return holds && !forged;
}

/** One call: the request, the messages of the nodes, the answer. */
function draw(diagram: Diagram, call: string, between: readonly Row[], outcome: string): void {
  const rows: Row[] = [
    { from: ['client'], to: ['gateway'], label: `${call} (HTTP)` },
    { from: ['gateway'], to: ['coordinator'], label: 'the same, as a frame' },
    ...between,
    { from: ['coordinator'], to: ['gateway'], label: 'response, receipt and checkpoint' },
    { from: ['gateway'], to: ['client'], label: outcome },
  ];
  for (const row of rows) say(diagram.row(row));
}

function receiptOf({ receipt }: { readonly receipt: DiagnosticReceipt | null }): DiagnosticReceipt {
  if (receipt === null) throw new Error('an answer of a signing call has no receipt');
  return receipt;
}

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}
