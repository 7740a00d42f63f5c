/** The service under load. */
export interface LoadTarget {
  /** Of the REST API, without a slash at the end. */
  readonly url: string;
  /** Of the gRPC API; undefined: unknown. */
  readonly grpc: string | undefined;
  /** Secret. */
  readonly token: string;
}
