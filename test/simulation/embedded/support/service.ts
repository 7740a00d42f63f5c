/** An embedded service on free ports, for tests: the sandbox of the public seed, asked over its real doors. */
import { newSandbox, sandboxSchemes, sandboxTenant } from '../../../../cli/cluster-files/sandbox.ts';
import { type ReadyKey, readyKeys } from '../../../../cli/start/ready-keys.ts';
import { consoleFiles } from '../../../../clients/console/files.ts';
import { type EmbeddedOptions, type EmbeddedService, startEmbedded } from '../../../../simulation/embedded/service.ts';
import { type JsonReply, type RestAnswer, RestClient, type RestMethod } from '../../../support/rest.ts';

export interface Running {
  readonly service: EmbeddedService;
  readonly keys: readonly ReadyKey[];
  readonly token: string;
  /** Of the same tenant: approves what the other has initiated. */
  readonly approverToken: string;
  /** `key`: its Idempotency-Key. */
  call(method: string, path: string, body?: object, token?: string, key?: string): Promise<RestAnswer<JsonReply>>;
  /** As `call`, for an answer of that status alone. */
  must(status: number, method: string, path: string, body?: object): Promise<JsonReply>;
}

export async function startService(options: Partial<EmbeddedOptions> = {}): Promise<Running> {
  const sandbox = options.stored?.sandbox ?? newSandbox(undefined);
  const { nodes = 5 } = options;
  let keys: readonly ReadyKey[] = [];
  const service = await startEmbedded({
    http: { host: '127.0.0.1', port: 0 },
    grpc: { host: '127.0.0.1', port: 0 },
    ...{ nodes, sandbox, consoleFiles, version: '0.0.0-test', acceptAnyTestToken: true, chainBlockMs: 20 },
    readyMade: { tenant: sandboxTenant, schemes: sandboxSchemes },
    retryScheduleMs: [20, 20, 20],
    makeKeys: async (ask) => {
      keys = await readyKeys({ ask, nodes });
    },
    ...options,
  });
  const { token, approverToken } = sandbox;
  const call: Running['call'] = async (method, path, body, as = token, key) => {
    const headers = key === undefined ? {} : { 'idempotency-key': key };
    const rest = new RestClient(`http://${service.httpAddress}`, as);
    return rest.call<JsonReply>(method as RestMethod, path, body, { headers });
  };
  const must: Running['must'] = async (status, method, path, body) => {
    const answer = await call(method, path, body);
    if (answer.status !== status) throw new Error(`${method} ${path}: ${answer.status} ${JSON.stringify(answer.body)}`);
    return answer.body;
  };
  return { service, keys, token, approverToken, call, must };
}

/** A whole signature over a digest, in base64. */
export async function signature({ must }: Running, wallet: string, digest: Uint8Array, intent: string) {
  const begun = await must(200, 'POST', '/v1/signing/initiate', {
    transaction_intent_id: intent,
    wallet_id: wallet,
    message_hash: Buffer.from(digest).toString('base64'),
  });
  return must(200, 'POST', '/v1/signing/share', { signing_session_id: begun.signing_session_id });
}
