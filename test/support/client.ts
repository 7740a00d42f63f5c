/** The five calls of the signing API as a client makes them, through HTTP or gRPC, typed by the generated messages. */
import {
  create,
  type DescMessage,
  fromBinary,
  fromJson,
  type JsonValue,
  type MessageInitShape,
  type MessageShape,
  toBinary,
  toJson,
} from '@bufbuild/protobuf';
import { Client, credentials, status as grpcStatus, Metadata } from '@grpc/grpc-js';
import { exchange } from '../../clients/client/exchange.ts';
import { operations } from '../../clients/client/generated-api.ts';
import {
  type DiagnosticReceipt,
  MpcWalletService,
  type SessionCheckpoint,
} from '../../proto/gen/svc/mesh/v1/mpc_wallet_pb.ts';
import { patienceMs } from './until.ts';

/** A call that got no response message. `status`: HTTP's or gRPC's number, 0 when there was no answer at all. */
export class CallFailed extends Error {
  readonly status: number;
  /** Whether the same call may be made again: the service was unreachable, or the answer was lost. */
  readonly mayRepeat: boolean;

  constructor(status: number, mayRepeat: boolean, message: string) {
    super(message);
    this.status = status;
    this.mayRepeat = mayRepeat;
  }
}

type Rpcs = typeof MpcWalletService.method;
type RpcName = keyof Rpcs;

interface Messages {
  readonly name: string;
  readonly input: DescMessage;
  readonly output: DescMessage;
}

/** The five calls. Each rejects with CallFailed when there is no response message. */
export type SigningApi = {
  readonly [K in RpcName]: (request: MessageInitShape<Rpcs[K]['input']>) => Promise<MessageShape<Rpcs[K]['output']>>;
};

/** What every response carries. */
export interface Answer {
  readonly receipt?: DiagnosticReceipt | undefined;
  readonly checkpoint?: SessionCheckpoint | undefined;
}

function api(call: (name: RpcName, request: Record<string, unknown>) => Promise<unknown>): SigningApi {
  const names = Object.keys(MpcWalletService.method) as RpcName[];
  const calls = names.map((name) => [name, (request: Record<string, unknown>) => call(name, request)]);
  return Object.fromEntries(calls) as SigningApi;
}

export interface HttpApiOptions {
  /** A function: asked at every call, since `up` may take another port when it starts again. */
  readonly baseUrl: string | (() => string);
  readonly token: string;
  /** Sees the text of every answer. */
  readonly onText?: ((text: string) => void) | undefined;
  readonly timeoutMs?: number;
}

export interface HttpApi extends SigningApi {
  /** Of a key that was made, as the coordinator holds it now: compressed, lowercase hex. In a sandbox alone. */
  publicKeyOf(sessionId: string): Promise<string | null>;
}

/** Over HTTP, as ProtoJSON. */
export function httpApi({ baseUrl, token, onText, timeoutMs = patienceMs() }: HttpApiOptions): HttpApi {
  const ask = async (path: string, body?: JsonValue): Promise<JsonValue> => {
    const base = typeof baseUrl === 'string' ? baseUrl : baseUrl();
    const sent = body === undefined ? { method: 'GET' } : { method: 'POST', body: JSON.stringify(body) };
    const signal = AbortSignal.timeout(timeoutMs);
    const { status, text } = await exchange(fetch, `${base}${path}`, { ...sent, token, signal }).catch((error) => {
      const cause = error instanceof Error ? (error.cause ?? error) : error;
      throw new CallFailed(0, true, `${path}: ${cause instanceof Error ? cause.message : String(cause)}`);
    });
    onText?.(text);
    if (status !== 200) throw new CallFailed(status, [503, 504].includes(status), `${path}: ${status} ${text}`);
    return JSON.parse(text) as JsonValue;
  };
  const methods = api(async (name, init) => {
    const { input, output }: Messages = MpcWalletService.method[name];
    const { path } = operations.signing[name]!;
    return fromJson(output, await ask(path, toJson(input, create(input, init), { useProtoFieldName: true })));
  });
  return {
    ...methods,
    publicKeyOf: async (sessionId) => {
      const session = (await ask(`/v1/sandbox/sessions/${sessionId}?limit=1`)) as {
        readonly public_key: string | null;
      };
      return session.public_key;
    },
  };
}

export interface GrpcApi extends SigningApi {
  /** For calls to other services on the same connection. */
  readonly connection: Client;
  close(): void;
}

/** Over gRPC. `address` is host:port. */
export function grpcApi(address: string, token: string, key?: string): GrpcApi {
  const connection = new Client(address, credentials.createInsecure());
  const metadata = new Metadata();
  metadata.set('authorization', `Bearer ${token}`);
  if (key !== undefined) metadata.set('idempotency-key', key);
  const methods = api((name, init) => {
    const { name: rpc, input, output }: Messages = MpcWalletService.method[name];
    return new Promise((resolve, reject) => {
      connection.makeUnaryRequest(
        `/${MpcWalletService.typeName}/${rpc}`,
        (bytes: Buffer) => bytes,
        (bytes: Buffer) => bytes,
        Buffer.from(toBinary(input, create(input, init))),
        metadata,
        { deadline: Date.now() + patienceMs() },
        (error, bytes) => {
          if (bytes) resolve(fromBinary(output, new Uint8Array(bytes)));
          else {
            const code = error?.code ?? grpcStatus.UNKNOWN;
            const mayRepeat = code === grpcStatus.UNAVAILABLE || code === grpcStatus.DEADLINE_EXCEEDED;
            reject(new CallFailed(code, mayRepeat, `${rpc}: ${error?.message ?? 'no response'}`));
          }
        },
      );
    });
  });
  return { ...methods, connection, close: () => connection.close() };
}

/** Repeats a call until it is answered. The effect of the earlier calls is unknown: the caller must expect a replay. */
export async function repeated<T>(call: () => Promise<T>): Promise<T> {
  const beganMs = performance.now();
  for (;;) {
    try {
      return await call();
    } catch (error) {
      if (!(error instanceof CallFailed) || !error.mayRepeat || performance.now() - beganMs > patienceMs()) throw error;
    }
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
