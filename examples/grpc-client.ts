/**
 * The signing API over gRPC, with the messages that buf generates (proto/gen): an ed25519 key made by five nodes, a
 * FROST signature by three of them, and a check by an independent library.
 *
 *     npm start                                # in one terminal
 *     node dist/examples/grpc-client.js        # in another
 *
 * Options, or the environment variables in brackets: --address [GRPC_ADDRESS], --url [BASE_URL] (events are read over
 * HTTP), --token [TOKEN]. Exit code 0: the signature verifies. 1: something failed. 2: a wrong call of this program.
 */
import { parseArgs } from 'node:util';
import {
  create,
  type DescMessage,
  type DescMethodUnary,
  fromBinary,
  type MessageInitShape,
  type MessageShape,
  toBinary,
} from '@bufbuild/protobuf';
import { Client, credentials, Metadata } from '@grpc/grpc-js';
import { ed25519 } from '@noble/curves/ed25519.js';
import { type DiagnosticReceipt, MpcWalletService, ReceiptState } from '../proto/gen/svc/mesh/v1/mpc_wallet_pb.ts';

/** The public token of a fresh sandbox. Any other `svc_sk_test_…` opens a tenant of its own. */
const sandboxToken = 'svc_sk_test_sandboxTokenForEveryoneToUse001PqAfG';
const callTimeoutMs = 30_000;
const service = MpcWalletService.method;

async function main({ address, url, token }: Options): Promise<void> {
  const connection = new Client(address, credentials.createInsecure());
  try {
    await makeAndSign(callsOver(connection, token), (sessionId) => publicKeyOf(url, token, sessionId));
  } finally {
    connection.close();
  }
}

async function makeAndSign(call: Call, publicKeyOf: (sessionId: string) => Promise<Buffer>): Promise<void> {
  const context = { client: { clientName: 'grpc-example', contractVersion: '1.0' } };

  // A key. Without a session id the server makes one; 0 of 0 means 3 of 5.
  const dkg = await call(service.initiateDkg, { derivation: { curve: 'ed25519' }, context });
  expectState(dkg.receipt, ReceiptState.ACCEPTED);
  const { sessionId } = dkg;
  const made = await call(service.exchangeDkgShares, { sessionId, context });
  expectState(made.receipt, ReceiptState.BACKEND_COMPLETED);
  const publicKey = await publicKeyOf(sessionId);
  print('key', `${sessionId} (ed25519, 3 of 5)`);
  print('public key', publicKey.toString('hex'));

  // A signature. ed25519 signs the message itself. One intent is signed once, so every run names its own.
  const message = Buffer.from('hello from a gRPC client');
  const session = await call(service.initiateSigning, {
    transactionIntentId: `intent-of-${sessionId}`,
    walletId: sessionId,
    messageHash: message,
    context,
  });
  expectState(session.receipt, ReceiptState.ACCEPTED);
  const { signingSessionId } = session;
  const signed = await call(service.submitSignatureShare, { signingSessionId, context });
  expectState(signed.receipt, ReceiptState.BACKEND_COMPLETED);
  print('message', message.toString('hex'));
  print('signature', Buffer.from(signed.fullSignature).toString('hex'));

  if (!ed25519.verify(signed.fullSignature, message, publicKey)) throw new Error('the signature does not verify');
  print('verified', 'yes, as a standard Ed25519 signature');
}

/** Events are read over HTTP: the event of a key has its public key. */
async function publicKeyOf(url: string, token: string, sessionId: string): Promise<Buffer> {
  const path = `/v1/events?type=dkg.session.completed&resource_id=${sessionId}`;
  const response = await fetch(new URL(path, url), { headers: { authorization: `Bearer ${token}` } });
  if (!response.ok) throw new Error(`${path} answers ${response.status}: ${await response.text()}`);
  const { events } = (await response.json()) as Events;
  return Buffer.from(events[0]?.data.object.public_key ?? '', 'hex');
}

interface Events {
  readonly events: readonly { readonly data: { readonly object: { readonly public_key: string } } }[];
}

/** One unary call; rejects with the gRPC status when there is no response. */
type Call = <I extends DescMessage, O extends DescMessage>(
  method: DescMethodUnary<I, O>,
  request: MessageInitShape<I>,
) => Promise<MessageShape<O>>;

function callsOver(connection: Client, token: string): Call {
  const metadata = new Metadata();
  metadata.set('authorization', `Bearer ${token}`);
  return (method, request) =>
    new Promise((resolve, reject) => {
      connection.makeUnaryRequest(
        `/${method.parent.typeName}/${method.name}`,
        (message: typeof request) => Buffer.from(toBinary(method.input, create(method.input, message))),
        (bytes: Buffer) => fromBinary(method.output, bytes),
        request,
        metadata,
        { deadline: Date.now() + callTimeoutMs },
        (error, response) => {
          if (response !== undefined) resolve(response);
          else reject(error);
        },
      );
    });
}

function expectState(receipt: DiagnosticReceipt | undefined, state: ReceiptState): void {
  if (receipt?.state === state) return;
  throw new Error(`${ReceiptState[receipt?.state ?? 0]} ${receipt?.reasonCode}: ${receipt?.message}`);
}

function print(name: string, value: string): void {
  process.stdout.write(`${name.padEnd(12)} ${value}\n`);
}

interface Options {
  readonly address: string;
  readonly url: string;
  readonly token: string;
}

function options(): Options {
  const {
    GRPC_ADDRESS: address = '127.0.0.1:50051',
    BASE_URL: url = 'http://127.0.0.1:8080',
    TOKEN: token = sandboxToken,
  } = process.env;
  const { values } = parseArgs({
    options: {
      address: { type: 'string', default: address },
      url: { type: 'string', default: url },
      token: { type: 'string', default: token },
    },
  });
  return values;
}

function fail(error: unknown, exitCode: number): never {
  process.stderr.write(`grpc-client: ${error instanceof Error ? error.message : String(error)}\n`);
  process.exit(exitCode);
}

try {
  await main(options()).catch((error: unknown) => fail(error, 1));
} catch (error) {
  fail(error, 2);
}
