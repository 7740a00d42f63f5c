/** Deliveries of webhooks and events as the panel shows them: which are listed, and why a delivery is as it is. Pure. */
import type { Delivery, Event, SandboxFault } from '../../../client/generated-api.ts';
import { faultInWords } from '../shared/why.ts';
import { durationInWords } from '../shared/words.ts';

/** What ended a try without an answer, and what to do. */
const failures: Readonly<Record<string, readonly [what: string, remedy: string]>> = {
  timeout: ['gave no answer in time', 'answer first, and work afterwards'],
  connection_refused: ['refused the connection', 'start the receiver'],
  connection_reset: ['cut the connection', 'see the log of the receiver'],
  name_not_resolved: ['has a host name that is not known', 'correct the URL'],
  address_not_allowed: ['has an address to which this service does not send', 'register another URL'],
  tls_failed: ['failed at TLS', 'correct its certificate'],
};

/** One sentence; empty: it was delivered, or is on its way for the first time. `faults`: of the sandbox. */
export function whyOfDelivery(delivery: Delivery, faults: readonly SandboxFault[], nowMs: number): string {
  const { status, attempts, attempt_count: count, next_attempt_at: next } = delivery;
  const last = attempts.at(-1);
  if (last === undefined || status === 'delivered') return '';
  if (last.error === 'event_not_kept') return 'It cannot be sent: its event is no longer stored.';
  const [what, remedy] = answerInWords(last);
  const armed = faults.filter(({ state, fault }) => state !== 'over' && fault.fault.startsWith('receiver_'));
  const because = armed.length === 0 ? '' : `; ${armed.map(faultInWords).join(' and ')} may be why: remove it, or`;
  const gone = last.status === 410;
  const then =
    status === 'failed'
      ? gone
        ? 'that disabled the webhook'
        : 'no try is left'
      : next === null || Date.parse(next) <= nowMs
        ? 'the next try is due'
        : `the next try is in ${durationInWords(Date.parse(next) - nowMs)}`;
  const todo = status === 'failed' ? `${remedy}, then ${gone ? 'enable it and ' : ''}deliver it again` : remedy;
  return `The receiver ${what}, at try ${count}; ${then}${because === '' ? ';' : because} ${todo}.`;
}

function answerInWords({ status, error }: Delivery['attempts'][number]): readonly [string, string] {
  if (status === 410) return ['answered 410: it wants no more', 'answer 2xx'];
  if (status !== null && status >= 300 && status < 400)
    return [`answered ${status}, and redirects are not followed`, 'register the URL to which it redirects'];
  if (status !== null) return [`answered ${status}`, status < 500 ? 'answer 2xx' : 'see the log of the receiver'];
  return failures[error ?? ''] ?? [`did not answer (${error})`, 'see the log of the receiver'];
}

/** The newest first. `family`: the part of the type before the dot; empty: all. */
export function listedEvents(events: readonly Event[], words: string, family: string): readonly Event[] {
  const wanted = words.trim().toLowerCase();
  return events
    .filter(
      (event) =>
        (family === '' || familyOfType(event.type) === family) &&
        (wanted === '' || JSON.stringify(event).toLowerCase().includes(wanted)),
    )
    .reverse();
}

export function familyOfType(type: string): string {
  return type.split('.')[0]!;
}

export function listedDeliveries(deliveries: readonly Delivery[], words: string, status: string): readonly Delivery[] {
  const wanted = words.trim().toLowerCase();
  return deliveries.filter(
    (one) =>
      (status === '' || one.status === status) &&
      (wanted === '' ||
        [one.id, one.event_id, one.event_type, one.status].some((text) => text.toLowerCase().includes(wanted))),
  );
}
