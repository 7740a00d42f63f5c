/** The line that `up --json` prints when every process serves. */
export interface ReadyLine {
  /** e.g. http://127.0.0.1:40001 */
  readonly http: string;
  /** host:port */
  readonly grpc: string;
  /** Of every gateway; the first is that of `http` and `grpc`. */
  readonly gateways: readonly { readonly http: string; readonly grpc: string }[];
  /** Valid only in this sandbox, with every scope. Secret where the sandbox has its own seed. */
  readonly token: string;
  /** Token of another principal of the same tenant: approves intents of the first. */
  readonly approver_token: string;
  /** Made at the start. */
  readonly keys: readonly {
    readonly wallet_id: string;
    readonly curve: 'secp256k1' | 'ed25519';
    readonly public_key: string;
    readonly addresses: Readonly<Record<string, string>>;
  }[];
  /** By role: "redis", "coordinator", "node-1", …, "gateway", "worker", and "up", which watches them. */
  readonly pids: Readonly<Record<string, number>>;
}
