/** The port to the network outside, as deliveries use it. */
export interface SendRequest {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Sent exactly as it is. */
  readonly body: Buffer;
  readonly timeoutMs: number;
}

export type SendOutcome =
  | {
      readonly kind: 'answered';
      readonly status: number;
      readonly retryAfter: string | undefined;
      readonly tookMs: number;
    }
  /** `code`: lower_snake, e.g. "timeout", "connection_refused", "address_not_allowed". */
  | { readonly kind: 'failed'; readonly code: string; readonly message: string; readonly tookMs: number };

/** The egress port: one POST. Never rejects. */
export type Send = (request: SendRequest) => Promise<SendOutcome>;
