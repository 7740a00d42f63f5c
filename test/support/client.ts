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
import {
  type DiagnosticReceipt,
  DkgShareExchangeRequestSchema,
  DkgShareExchangeResponseSchema,
  InitiateDkgRequestSchema,
  InitiateDkgResponseSchema,
  InitiateSigningRequestSchema,
  InitiateSigningResponseSchema,
  ResumeSessionRequestSchema,
  ResumeSessionResponseSchema,
  type SessionCheckpoint,
  SignatureShareRequestSchema,
  SignatureShareResponseSchema,
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

interface Rpc<Q extends DescMessage, A extends DescMessage> {
  readonly name: string;
  readonly path: string;
  readonly request: Q;
  readonly response: A;
}

function rpc<Q extends DescMessage, A extends DescMessage>(name: string, path: string, request: Q, response: A) {
  return { name, path, request, response };
}

const rpcs = {
  initiateDkg: rpc('InitiateDkg', '/v1/dkg/initiate', InitiateDkgRequestSchema, InitiateDkgResponseSchema),
  exchangeDkgShares: rpc(
    'ExchangeDkgShares',
    '/v1/dkg/shares',
    DkgShareExchangeRequestSchema,
    DkgShareExchangeResponseSchema,
  ),
  initiateSigning: rpc(
    'InitiateSigning',
    '/v1/signing/initiate',
    InitiateSigningRequestSchema,
    InitiateSigningResponseSchema,
  ),
  submitSignatureShare: rpc(
    'SubmitSignatureShare',
    '/v1/signing/share',
    SignatureShareRequestSchema,
    SignatureShareResponseSchema,
  ),
  resumeSession: rpc('ResumeSession', '/v1/sessions/resume', ResumeSessionRequestSchema, ResumeSessionResponseSchema),
};

type Rpcs = typeof rpcs;

/** The five calls. Each rejects with CallFailed when there is no response message. */
export type SigningApi = {
  readonly [K in keyof Rpcs]: (
    request: MessageInitShape<Rpcs[K]['request']>,
  ) => Promise<MessageShape<Rpcs[K]['response']>>;
};

/** What every response carries. */
export interface Answer {
  readonly receipt?: DiagnosticReceipt | undefined;
  readonly checkpoint?: SessionCheckpoint | undefined;
}

function api(
  call: <Q extends DescMessage, A extends DescMessage>(
    of: Rpc<Q, A>,
    request: MessageInitShape<Q>,
  ) => Promise<MessageShape<A>>,
): SigningApi {
  return {
    initiateDkg: (request) => call(rpcs.initiateDkg, request),
    exchangeDkgShares: (request) => call(rpcs.exchangeDkgShares, request),
    initiateSigning: (request) => call(rpcs.initiateSigning, request),
    submitSignatureShare: (request) => call(rpcs.submitSignatureShare, request),
    resumeSession: (request) => call(rpcs.resumeSession, request),
  };
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
    let answer: Response;
    let text: string;
    try {
      answer = await fetch(`${typeof baseUrl === 'string' ? baseUrl : baseUrl()}${path}`, {
        method: body === undefined ? 'GET' : 'POST',
        headers: {
          authorization: `Bearer ${token}`,
          ...(body !== undefined && { 'content-type': 'application/json' }),
        },
        ...(body !== undefined && { body: JSON.stringify(body) }),
        signal: AbortSignal.timeout(timeoutMs),
      });
      text = await answer.text();
    } catch (error) {
      const cause = error instanceof Error ? (error.cause ?? error) : error;
      throw new CallFailed(0, true, `${path}: ${cause instanceof Error ? cause.message : String(cause)}`);
    }
    onText?.(text);
    if (!answer.ok)
      throw new CallFailed(answer.status, [503, 504].includes(answer.status), `${path}: ${answer.status} ${text}`);
    return JSON.parse(text) as JsonValue;
  };
  const methods = api(async ({ path, request, response }, init) =>
    fromJson(response, await ask(path, toJson(request, create(request, init), { useProtoFieldName: true }))),
  );
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
export function grpcApi(address: string, token: string): GrpcApi {
  const connection = new Client(address, credentials.createInsecure());
  const metadata = new Metadata();
  metadata.set('authorization', `Bearer ${token}`);
  const methods = api(
    ({ name, request, response }, init) =>
      new Promise((resolve, reject) => {
        connection.makeUnaryRequest(
          `/svc.mesh.v1.MpcWalletService/${name}`,
          (bytes: Buffer) => bytes,
          (bytes: Buffer) => bytes,
          Buffer.from(toBinary(request, create(request, init))),
          metadata,
          { deadline: Date.now() + patienceMs() },
          (error, bytes) => {
            if (bytes) resolve(fromBinary(response, new Uint8Array(bytes)));
            else {
              const code = error?.code ?? grpcStatus.UNKNOWN;
              const mayRepeat = code === grpcStatus.UNAVAILABLE || code === grpcStatus.DEADLINE_EXCEEDED;
              reject(new CallFailed(code, mayRepeat, `${name}: ${error?.message ?? 'no response'}`));
            }
          },
        );
      }),
  );
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
