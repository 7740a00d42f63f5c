/** The error of the helpers for keys and signatures. */
import { ClientError } from './errors.ts';
import type { DiagnosticReceipt, ReasonCode, SessionCheckpoint } from './generated-api.ts';

/** A signing call had an answer, but not the requested result. */
export class SigningError extends ClientError {
  override readonly name = 'SigningError';
  readonly reasonCode: ReasonCode;
  readonly state: DiagnosticReceipt['state'];
  readonly sessionId: string;
  readonly receipt: DiagnosticReceipt;
  readonly checkpoint: SessionCheckpoint | null;

  constructor(step: string, receipt: DiagnosticReceipt, checkpoint: SessionCheckpoint | null) {
    const remedy = receipt.resumable ? '; the session is paused: resume it with the token of the checkpoint' : '';
    super('signing_refused', `${step}: ${receipt.reason_code}: ${receipt.message}${remedy}`);
    this.reasonCode = receipt.reason_code as ReasonCode;
    this.state = receipt.state;
    this.sessionId = receipt.session_id;
    this.receipt = receipt;
    this.checkpoint = checkpoint === null ? null : withoutToken(checkpoint);
  }
}

/** `error.checkpoint.resume_token` reads; a log of the error does not show it. */
function withoutToken(checkpoint: SessionCheckpoint): SessionCheckpoint {
  const { resume_token: token, ...rest } = checkpoint;
  return Object.defineProperty({ ...rest }, 'resume_token', { value: token, enumerable: false }) as SessionCheckpoint;
}
