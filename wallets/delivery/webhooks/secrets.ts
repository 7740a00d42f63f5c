/**
 * The secrets that sign a webhook's deliveries: created here, shown once, stored sealed. After a rotation the previous secret
 * also signs for another day, so that the receiver can switch without refusing a delivery.
 */
import type { RandomBytes } from '../../../core/actors/contract.ts';
import { ServiceError } from '../../../gateway/api/errors/service-error.ts';
import { aboutSecret, type WebhookSecret } from './record.ts';

export interface SecretDeps {
  /** Seals secrets; the port of gateway/api/stored-answers.ts. */
  readonly seal: { seal(plain: string, about: string): string };
  readonly random: RandomBytes;
}

export const secretOverlapMs = 24 * 3_600_000;
/** Valid at a time: every delivery is signed with each. */
const secretsMax = 5;

/** `plain`: `whsec_` and the base64 of 32 bytes. */
export function newSecret(
  tenant: string,
  webhookId: string,
  deps: SecretDeps,
): { readonly plain: string; readonly sealed: WebhookSecret } {
  const plain = `whsec_${Buffer.from(deps.random(32)).toString('base64')}`;
  return { plain, sealed: { sealed: deps.seal.seal(plain, aboutSecret(tenant, webhookId)), endsAtMs: null } };
}

/** The new one first, then those that are still valid. Throws ServiceError when they are too many. */
export function rotated(
  before: readonly WebhookSecret[],
  next: WebhookSecret,
  nowMs: number,
  retainPrevious: boolean,
): readonly WebhookSecret[] {
  if (!retainPrevious) return [next];
  const valid = before.filter(({ endsAtMs }) => endsAtMs === null || endsAtMs > nowMs);
  if (valid.length >= secretsMax) {
    throw new ServiceError('conflict', `${secretsMax} secrets are valid: wait, or revoke them with revoke_previous`, {
      details: [{ field: 'revoke_previous', issue: 'too_many', message: 'takes true' }],
    });
  }
  return [next, ...valid.map(({ sealed, endsAtMs }) => ({ sealed, endsAtMs: endsAtMs ?? nowMs + secretOverlapMs }))];
}
