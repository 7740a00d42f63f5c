/** The port to the network outside, as deliveries use it. */
export interface SendRequest {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Sent exactly as it is. */
  readonly body: Buffer;
  readonly timeoutMs: number;
}

/** What a receiver answered, for its author to read. */
export interface KeptAnswer {
  /** By lower-case names; of a name that occurs several times all values, joined by ", ". At most 4 KB together. */
  readonly headers: Readonly<Record<string, string>>;
  /** The first 2 KB, read as UTF-8. */
  readonly body: string;
  /** There was more than is here. */
  readonly truncated: boolean;
}

export type SendOutcome =
  | {
      readonly kind: 'answered';
      readonly status: number;
      readonly retryAfter: string | undefined;
      readonly tookMs: number;
      /** undefined: not kept, as in production. */
      readonly answer?: KeptAnswer | undefined;
    }
  /** `code`: lower_snake, e.g. "timeout", "connection_refused", "address_not_allowed". */
  | { readonly kind: 'failed'; readonly code: string; readonly message: string; readonly tookMs: number };

/** The egress port: one POST. Never rejects. */
export type Send = (request: SendRequest) => Promise<SendOutcome>;
