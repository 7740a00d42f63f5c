/**
 * The allowance of a tenant's calls, as each answer shows it (docs/http-and-grpc.md): every class counts its own calls, and no
 * others. For runs without faults, in which a call counts once.
 */
import type { ClientAnswer } from '../../service/client.ts';
import { found } from '../../service/invariants/finding.ts';

const policyForm = /^"(\w+)";q=(\d+);w=(\d+)$/;
const stateForm = /^"(\w+)";r=(\d+);t=(\d+)$/;

export class Allowances {
  /** The times of the calls of each class. */
  readonly #sent = new Map<string, number[]>();

  sent(limitClass: string, nowMs: number): void {
    const times = this.#sent.get(limitClass);
    if (times === undefined) this.#sent.set(limitClass, [nowMs]);
    else times.push(nowMs);
  }

  /** Throws a Finding. */
  heard(target: string, limitClass: string, { headers }: Pick<ClientAnswer, 'headers'>, nowMs: number): void {
    const { 'ratelimit-policy': policy, ratelimit: state } = headers;
    if (policy === undefined || state === undefined) return;
    const [, ofPolicy, allowance, windowS] = policyForm.exec(policy) ?? [];
    const [, ofState, left, untilS] = stateForm.exec(state) ?? [];
    const about = `${target}, of ${limitClass}, shows ${policy} and ${state}`;
    const isOfClass = ofPolicy === limitClass && ofState === limitClass;
    if (!isOfClass || Number(left) >= Number(allowance) || Number(untilS) > Number(windowS))
      found('answers-as-modelled', about);
    const fromMs = nowMs - Number(windowS) * 1_000;
    const made = (this.#sent.get(limitClass) ?? []).filter((ms) => ms >= fromMs).length;
    const counted = Number(allowance) - Number(left);
    // A full allowance shows no more than that it is used up.
    if (counted > made) found('answers-as-modelled', `${about}, after ${made} calls of its class in this window`);
  }
}
