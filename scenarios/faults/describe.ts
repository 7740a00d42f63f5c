/** Describes faults in text, for reports: "node/2 crashes before its 3rd partial_reply; back after 100 ms". */

import { restartAfterMsDefault } from './engine/trigger-orders.ts';
import type { ProcessName } from './vocabulary/engine-contract.ts';
import type { Fault } from './vocabulary/fault.ts';
import { countsUses, natures } from './vocabulary/kinds.ts';
import { targetsOf as namesOf, processesOf } from './vocabulary/targets.ts';

/** The processes that a fault targets. With the size of the cluster node/* becomes every node, otherwise it stays. */
export function targetsOf(fault: Fault, nodesTotal?: number): ProcessName[] {
  const names = namesOf(fault);
  return [...(nodesTotal === undefined ? names : processesOf(names, nodesTotal))];
}

/** One line, without its id. */
export function describe(fault: Fault): string {
  const parts = [`${whatHappens(fault)}${when(fault)}${howOften(fault)}`, ...aftermath(fault)];
  return parts.join('; ');
}

function whatHappens(fault: Fault): string {
  const who = whom(fault);
  const link = `frames ${'direction' in fault ? way(fault.direction) : 'to and from'} ${who}`;
  const each =
    fault.at?.point === undefined || natures[fault.fault] !== 'frames' ? link : `${fault.at.point} frames of ${who}`;
  switch (fault.fault) {
    case 'crash':
      return `${who} crashes${fault.lose_state ? ' and loses its store' : ''}`;
    case 'pause':
      return `${who} pauses for ${fault.for_ms} ms`;
    case 'slow':
      return `every frame of ${who} takes ${fault.by_ms} ms longer`;
    case 'delay':
      return `${each} arrive ${lateness(fault)} ms late`;
    case 'drop':
      return `${each} are lost`;
    case 'duplicate':
      return `${each} come ${(fault.copies ?? 1) + 1} times`;
    case 'reorder':
      return `${each} overtake each other within ${fault.within_ms} ms`;
    case 'partition':
      return `nothing passes ${way(fault.direction)} ${who}`;
    case 'hold':
      return `${each} wait`;
    case 'half_open':
      return `${who} vanishes without closing its links`;
    case 'corrupt':
      return `${each} are corrupted`;
    case 'truncate':
      return `${each} are cut in two`;
    case 'bad_share':
      return `${who} seals ${wrongShares[fault.how ?? 'random']}${forWhom(fault)}`;
    case 'bad_commitment':
      return `${who} commits to ${wrongCommitments[fault.how ?? 'other']}`;
    case 'bad_proof':
      return `${who} proves possession of nothing`;
    case 'bad_partial':
      return `${who} makes wrong partial signatures`;
    case 'equivocate':
      return `${who} shows two different openings`;
    case 'withhold':
      return `${who} ${fault.at?.point === undefined ? 'does not answer' : `withholds its ${fault.at.point}`}`;
    case 'stale_replay':
      return `${who} sends again what it sent before`;
    case 'false_report':
      return `${who} reports falsely${fault.about === undefined ? '' : ` about node/${fault.about}`}`;
    case 'false_refusal':
      return `${who} refuses feasible requests with ${fault.code}`;
    case 'early_confirm':
      return `${who} confirms keys before it was asked to`;
    case 'bad_nonces':
      return `${who} deals ${wrongNonces[fault.how]}`;
    case 'other_message':
      return `${who} asks for partial signatures of another message${forWhom(fault)}`;
    case 'false_order':
      return `${who} asks for partial signatures ${falseOrders[fault.how ?? 'invented']}${forWhom(fault)}`;
    case 'other_scheme':
      return `${who} asks for mock ECDSA partials under keys of another scheme${forWhom(fault)}`;
    case 'other_signers':
      return `${who} shows another list of signers${forWhom(fault)}`;
    case 'reuse_nonce':
      return `${who} asks for a second partial signature with the same nonce${forWhom(fault)}`;
    case 'substitute_opening':
      return `${who} relays openings with ${fault.how === 'commitments' ? 'commitments' : 'sealing keys'} that it made up${forWhom(fault)}`;
    case 'supply_dealers':
      return `${who} supplies the shares of every dealer itself${forWhom(fault)}`;
    case 'split_confirm':
      return `${who} confirms the key with other results${forWhom(fault)}`;
    case 'altered_answer':
      return `${who} answers with an altered ${fault.field} (${fault.change})`;
    case 'altered_request':
      return `${who} asks with an altered ${fault.field} (${fault.change})${forWhom(fault)}`;
    case 'second_process':
      return `a second process has the identity of ${who}`;
    case 'second_coordinator':
      return 'a second coordinator takes over, and the first one continues to write';
    case 'clock_skew':
      return `the clock of ${who} is off by ${fault.by_ms} ms`;
    case 'clock_jump':
      return `the clock of ${who} jumps by ${fault.by_ms} ms`;
    case 'store_lost':
      return `writes of ${who} are lost`;
    case 'store_unanswered':
      return `writes of ${who} take effect without an answer`;
    case 'store_slow':
      return `writes of ${who} take ${fault.by_ms} ms longer`;
    case 'hsm_fails':
      return `the PKCS#11 token of ${who} fails (${fault.by ?? 'token_absent'})`;
    case 'vendor_fails':
      return `the vendor behaves badly (${fault.by})`;
    case 'store_failing':
      return `reads and writes of ${who} fail`;
    case 'provider_fails':
      return `${fault.provider ?? 'every simulated custodian'} behaves badly (${fault.by})`;
    case 'store_tampered':
      return `the store of ${who} returns altered records`;
    case 'store_full':
      return 'the tenant has reached its storage quota';
    case 'rollback':
      return `the store of ${who} returns to an earlier state`;
    case 'redis_gone':
      return `Redis is unreachable for ${fault.for_ms} ms`;
    case 'worker_stalled':
      return `the webhook worker pauses for ${fault.for_ms} ms`;
    case 'double_delivery':
      return 'the queue holds a job twice';
    case 'poison_job':
      return 'the queue holds a malformed job';
    case 'receiver_status':
      return `the webhook receiver answers ${fault.status}`;
    case 'receiver_slow':
      return `the webhook receiver takes ${fault.by_ms} ms to answer`;
    case 'receiver_reset':
      return 'the webhook receiver cuts the connection';
    case 'answer_lost':
      return `${requests(fault)} lose their answers`;
    case 'answer_slow':
      return `${requests(fault)} are answered ${fault.by_ms} ms later`;
    case 'answer_status':
      return `${requests(fault)} are refused with ${fault.status}`;
    case 'answer_cut':
      return `${requests(fault)} are cut off in the middle of their answers`;
    case 'force_receipt':
      return `signing sessions are forced to be ${fault.state}`;
  }
}

const wrongShares = {
  random: 'wrong shares',
  zero: 'shares of zero',
  unopenable: 'shares to another key',
  malformed: 'boxes that are cut short',
} as const;
const wrongCommitments = {
  other: 'another polynomial than it deals from',
  too_few: 'one coefficient too few',
  too_many: 'one coefficient too many',
  identity: 'the constant term zero',
  malformed: 'a point that is cut short',
} as const;
const falseOrders = {
  none: 'without an order',
  invented: 'with an invented order',
  earlier: 'with the order of an earlier session',
  unwitnessed: 'without the order of a witness',
} as const;
const wrongNonces = {
  identity: 'nonces of zero',
  invalid: 'nonces that are none',
  duplicate: 'one nonce many times',
  malformed: 'nonces that are cut short',
} as const;

function forWhom(fault: Fault): string {
  const ids = 'for' in fault ? fault.for : undefined;
  return ids === undefined ? '' : ` for ${ids.map((id) => `node/${id}`).join(', ')}`;
}

function requests({ route, rpc }: { readonly route?: string; readonly rpc?: string }): string {
  const named = [route, rpc].filter((name) => name !== undefined);
  return named.length === 0 ? 'requests to the gateway' : `requests of ${named.join(' and ')}`;
}

function whom(fault: Fault): string {
  const names = namesOf(fault).map((name) => (name === 'node/*' ? anyOrEvery(fault) : name));
  return names.length < 2 ? names.join() : `${names.slice(0, -1).join(', ')} and ${names.at(-1)}`;
}

/** A fault with a point targets the node that sends or receives the frame. */
function anyOrEvery({ fault, at }: Fault): string {
  return natures[fault] !== 'frames' && at?.point !== undefined ? 'any node' : 'every node';
}

function way(direction: 'in' | 'out' | 'both' | undefined): string {
  if (direction === 'in') return 'to';
  return direction === 'out' ? 'from' : 'to and from';
}

function lateness({ by_ms, min_ms = 0, max_ms, distribution }: Extract<Fault, { fault: 'delay' }>): string {
  if (max_ms === undefined) return `${by_ms}`;
  return `${min_ms} to ${max_ms}${distribution === 'exponential' ? ' (exponentially)' : ''}`;
}

function when(fault: Fault): string {
  const { at } = fault;
  if (at === undefined) return '';
  const { point, phase = 'before', of, nth, session, step, after_ms } = at;
  const words: string[] = [];
  if (point !== undefined && natures[fault.fault] !== 'frames') {
    const whose =
      of ?? (whom(fault).includes(' and ') || /^(worker|redis|receiver)$/.test(whom(fault)) ? 'any' : 'its');
    const owner = of === undefined ? whose : `the`;
    words.push(`${phase} ${owner} ${nth === undefined ? '' : `${ordinal(nth)} `}${point}${of ? ` of ${of}` : ''}`);
  } else if (at.port !== undefined) {
    const calls = `call of ${at.port}${at.call === undefined ? '' : ` (${at.call})`}${of === undefined ? '' : ` of ${of}`}`;
    const nthOf = nth === undefined ? 'each ' : `the ${ordinal(nth)} `;
    words.push(countsUses(fault.fault) ? `at ${nthOf}${calls}` : `${phase} the ${ordinal(nth ?? 1)} ${calls}`);
  } else {
    if (of !== undefined) words.push(`where they pass ${of}`);
    if (nth !== undefined) words.push(isOnce(fault) ? `the ${ordinal(nth)} alone` : `from the ${ordinal(nth)} on`);
  }
  if (session !== undefined) words.push(`in session ${session}`);
  if (step !== undefined) words.push(`${after_ms ? `${after_ms} ms ` : ''}from step ${step} on`);
  else if (after_ms !== undefined) words.push(`after ${after_ms} ms`);
  return words.length === 0 ? '' : ` ${words.join(', ')}`;
}

/** The engine's rule: only the nth frame, unless the fault sets a count or a duration. */
function isOnce({ count, for_ms }: Fault): boolean {
  return count === 1 || (count === undefined && for_ms === undefined);
}

function howOften({ probability, count }: Fault): string {
  const often = count === undefined ? '' : count === 1 ? ', once' : `, ${count} times`;
  return `${often}${probability === undefined || probability === 1 ? '' : `, with probability ${probability}`}`;
}

function aftermath(fault: Fault): string[] {
  if (fault.fault === 'crash') {
    const { restart_after_ms: backMs = restartAfterMsDefault } = fault;
    return [backMs === null ? 'it stays down' : `back after ${backMs} ms`];
  }
  if (fault.fault === 'rollback') return [`back after ${fault.restart_after_ms ?? restartAfterMsDefault} ms`];
  const said = ['pause', 'redis_gone', 'worker_stalled'].includes(fault.fault);
  return fault.for_ms === undefined || said ? [] : [`for ${fault.for_ms} ms`];
}

function ordinal(n: number): string {
  const teens = n % 100 >= 11 && n % 100 <= 13;
  return `${n}${(teens ? undefined : ['st', 'nd', 'rd'][(n % 10) - 1]) ?? 'th'}`;
}
