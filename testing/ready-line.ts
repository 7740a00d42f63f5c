/** What `up --json` prints when every process serves. */
export interface ReadyLine {
  /** e.g. http://127.0.0.1:40001 */
  readonly http: string;
  /** host:port */
  readonly grpc: string;
  /** Of every gateway; the first is that of `http` and `grpc`. */
  readonly gateways: readonly { readonly http: string; readonly grpc: string }[];
  /** Of this sandbox alone, with every scope. Secret where the sandbox has a seed of its own. */
  readonly token: string;
  /** Another principal's of the same tenant: approves what the first has initiated. */
  readonly approver_token: string;
  /** Made by the start. */
  readonly keys: readonly {
    readonly wallet_id: string;
    readonly curve: 'secp256k1' | 'ed25519';
    readonly public_key: string;
    readonly addresses: Readonly<Record<string, string>>;
  }[];
  /** By role: "redis", "coordinator", "node-1", …, "gateway", "worker", and "up", which watches them. */
  readonly pids: Readonly<Record<string, number>>;
}
