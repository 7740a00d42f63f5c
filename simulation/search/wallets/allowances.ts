/**
 * The allowance of a tenant's calls, as each answer shows it (docs/http-and-grpc.md): every class counts its own calls, and no
 * others. For runs without faults, in which a call counts once.
 */
import type { ClientAnswer } from '../../service/client.ts';
import { found } from '../../service/invariants/finding.ts';

const policyForm = /^"(\w+)";q=(\d+);w=(\d+)$/;
const stateForm = /^"(\w+)";r=(\d+);t=(\d+)$/;

interface CountedCall {
  readonly sentMs: number;
  /** Infinity: it is under way. */
  heardMs: number;
}

export class Allowances {
  readonly #calls = new Map<string, CountedCall[]>();

  /** The result gets the call's answer, and throws a Finding. */
  sent(
    target: string,
    limitClass: string,
    nowMs: number,
  ): (answer: Pick<ClientAnswer, 'headers'>, nowMs: number) => void {
    const calls = this.#calls.get(limitClass) ?? [];
    this.#calls.set(limitClass, calls);
    const call: CountedCall = { sentMs: nowMs, heardMs: Number.POSITIVE_INFINITY };
    calls.push(call);
    return ({ headers }, heardMs) => {
      call.heardMs = heardMs;
      const { 'ratelimit-policy': policy, ratelimit: state } = headers;
      if (policy === undefined || state === undefined) return;
      const [, ofPolicy, allowance, windowS] = policyForm.exec(policy) ?? [];
      const [, ofState, left, untilS] = stateForm.exec(state) ?? [];
      const about = `${target}, of ${limitClass}, shows ${policy} and ${state}`;
      const isOfClass = ofPolicy === limitClass && ofState === limitClass;
      if (!isOfClass || Number(left) >= Number(allowance) || Number(untilS) > Number(windowS))
        found('answers-as-modelled', about);
      // A gateway counts a call at some time between the two: also others that it answered since the window may have opened.
      const fromMs = call.sentMs - Number(windowS) * 1_000;
      const made = calls.filter((other) => other.heardMs >= fromMs).length;
      const counted = Number(allowance) - Number(left);
      // A full allowance shows no more than that it is used up.
      if (counted > made) found('answers-as-modelled', `${about}, after ${made} calls of its class in this window`);
    };
  }
}
