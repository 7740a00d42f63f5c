/**
 * What a receiver answered to the latest try, kept by a sandbox for the receiver's author. It may hold the receiver's own secrets
 * (cookies, error pages), so it is sealed at rest, bound to its tenant and delivery.
 */
import type { AnswerSeal } from '../../store/secrets/answer-seal.ts';
import { EnvelopeBroken } from '../../store/secrets/envelope.ts';
import type { KeptAnswer, SendOutcome } from '../egress/public.ts';
import type { DeliveryRecord } from './record.ts';

export function sealAnswer(
  seal: Pick<AnswerSeal, 'seal'>,
  tenant: string,
  { id }: Pick<DeliveryRecord, 'id'>,
  outcome: SendOutcome,
): string | null {
  if (outcome.kind !== 'answered' || outcome.answer === undefined) return null;
  return seal.seal(JSON.stringify(outcome.answer), about(tenant, id));
}

/** null: none is kept, or the key that sealed it is gone. */
export function openAnswer(
  seal: Pick<AnswerSeal, 'open'>,
  tenant: string,
  { id, lastAnswer = null }: Pick<DeliveryRecord, 'id' | 'lastAnswer'>,
): KeptAnswer | null {
  if (lastAnswer === null) return null;
  try {
    return JSON.parse(seal.open(lastAnswer, about(tenant, id))) as KeptAnswer;
  } catch (error) {
    if (error instanceof EnvelopeBroken) return null;
    throw error;
  }
}

function about(tenant: string, deliveryId: string): string {
  return `${tenant} ${deliveryId}`;
}
