/**
 * Runs a scenario in a world: arms its faults, lets its clients act at the same time, and returns the outcome. It gets time and
 * processes only through the world's answers, so that one runner serves virtual and real time.
 *
 * The runner collects failed expectations and continues: the verdict lists them all, the first with its cause. A step that is
 * impossible or stuck ends the run. A violated invariant (such as an invalid signature) outranks all expectations.
 */

import { releasedVerifier, type SignatureVerifier } from '../../simulation/cluster/invariants/verifier.ts';
import type { Fault } from '../faults/vocabulary/fault.ts';
import { type CallStep, type Ended, endedText, StepCaller } from './client.ts';
import { CustodyBook } from './custody-book.ts';
import { CustodyCaller, type CustodyEnded } from './custody-caller.ts';
import { type CallExpectation, type CustodyCall, isCustodyStep } from './custody-format.ts';
import { callMismatches, custodyOutcomeText } from './custody-outcome.ts';
import { type Mismatch, mismatchText, stepMismatches } from './expectations.ts';
import { blamed, blameText, finalMismatches } from './final.ts';
import type { CheckedScenario, ScenarioStep } from './format.ts';
import { outcomeText } from './outcome.ts';
import { ReferenceMissing, resolved } from './references.ts';
import { SessionBook } from './sessions.ts';
import { awaitCondition } from './waiting.ts';
import type { QuestionName, Questions, ScenarioWorld, Verdict } from './world.ts';

export interface RunOptions {
  /** Verifies released signatures; noble-curves by default. */
  readonly verify?: SignatureVerifier;
  /** How long a step insists before the run is stuck: 60,000 by default. */
  readonly insistMs?: number;
  /** How long final expectations may take to come true: 10,000 by default. */
  readonly settleMs?: number;
  /** Skips a step that this run cannot do (a node has no partial to submit): for random scenarios. */
  readonly passesOver?: boolean;
  /** Stores the run's record of the wallet API; a new one by default. */
  readonly custody?: CustodyBook;
}

/** Runs `scenario`; `done` is called once, with the verdict. */
export function runScenario(
  scenario: CheckedScenario,
  world: ScenarioWorld,
  done: (verdict: Verdict) => void,
  options: RunOptions = {},
): void {
  new ScenarioRun(scenario, world, done, options).start();
}

class ScenarioRun {
  readonly #scenario: CheckedScenario;
  readonly #world: ScenarioWorld;
  readonly #done: (verdict: Verdict) => void;
  readonly #options: Required<RunOptions>;
  readonly #book: SessionBook;
  readonly #caller: StepCaller;
  readonly #custody: CustodyBook;
  readonly #custodyCaller: CustodyCaller;
  /** The world's ids of the faults that the scenario names. */
  readonly #faultIds = new Map<string, string>();
  /** Steps that have ended, by their names. */
  readonly #ended = new Set<string>();
  /** Mismatches so far, with their causes at that time. */
  readonly #wrong: { readonly what: string; readonly cause: string }[] = [];
  /** Faults on sessions that have no id yet. */
  #waiting: Fault[] = [];
  #active = 0;
  #isOver = false;

  constructor(scenario: CheckedScenario, world: ScenarioWorld, done: (verdict: Verdict) => void, options: RunOptions) {
    this.#scenario = scenario;
    this.#done = done;
    const { custody = new CustodyBook() } = options;
    this.#custody = custody;
    this.#options = {
      ...{ verify: releasedVerifier, insistMs: 60_000, settleMs: 10_000, passesOver: false },
      ...{ ...options, custody },
    };
    // The run ignores answers that arrive after the verdict.
    this.#world = {
      kind: world.kind,
      nowMs: () => world.nowMs(),
      idOf: (name) => world.idOf(name),
      recording: () => world.recording(),
      violations: () => world.violations(),
      ask: <Q extends QuestionName>(
        question: Q,
        asks: Questions[Q]['asks'],
        gets: (answer: Questions[Q]['gets']) => void,
      ) => {
        if (this.#isOver) return;
        world.ask(question, asks, (answer) => {
          if (!this.#isOver) gets(answer);
        });
      },
    };
    this.#book = new SessionBook(scenario, (name) => world.idOf(name));
    this.#caller = new StepCaller(this.#world, this.#book, this.#options.insistMs, (name, then) =>
      this.#arm(name, then),
    );
    this.#custodyCaller = new CustodyCaller(this.#world, this.#custody, this.#options.insistMs);
  }

  start(): void {
    const { worlds, faults, clients } = this.#scenario;
    if (!worlds.includes(this.#world.kind)) {
      const cause = `the scenario is for the ${worlds.join(' and ')} world, and this is the ${this.#world.kind} one`;
      this.#end({ kind: 'unsupported', cause });
      return;
    }
    this.#injectAll(faults, () => {
      const all = Object.entries(clients);
      this.#active = all.length;
      for (const [client, steps] of all) this.#step(client, steps, 0);
    });
  }

  #step(client: string, steps: readonly ScenarioStep[], index: number): void {
    const step = steps[index];
    if (step === undefined) {
      this.#active -= 1;
      if (this.#active === 0) this.#finish();
      return;
    }
    const session = 'session' in step ? step.session : '';
    const tell = (what: 'began' | 'ended', text: string, then: () => void) =>
      this.#world.ask('step', { client, step: step.step, what, session, text }, then);
    const went = (text: string) => {
      this.#ended.add(step.step);
      tell('ended', text, () => this.#step(client, steps, index + 1));
    };
    const where = `step ${step.step}${Object.keys(this.#scenario.clients).length > 1 ? ` of ${client}` : ''}`;
    tell('began', stepText(step), () => this.#perform(step, where, went));
  }

  #perform(step: ScenarioStep, where: string, went: (text: string) => void): void {
    if ('inject' in step) this.#inject(step.inject, () => went('armed'));
    else if ('heal' in step) this.#world.ask('heal', {}, () => went('healed'));
    else if ('advance_ms' in step) {
      this.#world.ask('advance', { byMs: step.advance_ms }, () => went(`${step.advance_ms} ms later`));
    } else if ('wait' in step) {
      const names = {
        session: (name: string) => this.#book.note(name).id,
        fault: (id: string) => this.#faultIds.get(id),
        ended: (name: string) => this.#ended.has(name),
        custody: this.#custody,
      };
      awaitCondition(step.wait, this.#world, names, (failed) => {
        if (failed === undefined) went('it is so');
        else this.#fail('stuck', `${where}: ${failed}`, step.wait.session);
      });
    } else if ('receiver' in step) {
      this.#world.ask('receiver', { name: step.receiver, answers: step.answers }, () => went('it answers so'));
    } else if (isCustodyStep(step)) {
      const beganMs = this.#world.nowMs();
      const end = (ended: CustodyEnded) =>
        this.#evaluateCustody(step, where, ended, this.#world.nowMs() - beganMs, went);
      this.#custodyCaller.perform(step, end);
    } else {
      const beganMs = this.#world.nowMs();
      this.#caller.perform(step, (ended) => this.#evaluate(step, where, ended, this.#world.nowMs() - beganMs, went));
    }
  }

  #evaluate(step: CallStep, where: string, ended: Ended, tookMs: number, went: (text: string) => void): void {
    if (ended.kind === 'impossible' && this.#options.passesOver) went(ended.why);
    else if (ended.kind === 'impossible') this.#fail('failed', `${where} cannot be done: ${ended.why}`, step.session);
    else if (ended.kind === 'stuck') {
      this.#fail('stuck', `${where} waits for ${ended.waitsFor}; last: ${outcomeText(ended.outcome)}`, step.session);
    } else {
      const { expect } = step;
      const wrong = expect === undefined ? [] : stepMismatches(expect, ended.outcome, tookMs, this.#world.kind);
      const goOn = () => went(endedText(ended));
      if (wrong.length === 0) goOn();
      else this.#note(where, wrong, step.session, outcomeText(ended.outcome), goOn);
    }
  }

  #evaluateCustody(
    step: CustodyCall,
    where: string,
    ended: CustodyEnded,
    tookMs: number,
    went: (text: string) => void,
  ): void {
    if (ended.kind === 'impossible') {
      if (this.#options.passesOver) went(ended.why);
      else this.#fail('failed', `${where} cannot be done: ${ended.why}`, undefined);
      return;
    }
    const { outcome } = ended;
    const text = custodyOutcomeText(outcome);
    if (ended.kind === 'stuck') {
      this.#fail('stuck', `${where} waits for ${ended.waitsFor}; last: ${text}`, undefined);
      return;
    }
    const answerOf = (other: string) => this.#custody.answer(other);
    let expect: CallExpectation;
    try {
      expect = resolved(step.expect ?? {}, answerOf) as CallExpectation;
    } catch (error) {
      if (!(error instanceof ReferenceMissing)) throw error;
      this.#fail('failed', `${where}: expect cannot be held against the answer: ${error.message}`, undefined);
      return;
    }
    const wrong = callMismatches(expect, outcome, tookMs, this.#world.kind, answerOf);
    if (wrong.length === 0) went(text);
    else this.#note(where, wrong, undefined, text, () => went(text));
  }

  /** All clients are done: checks the final expectations, now or until they hold. */
  #finish(): void {
    const beganMs = this.#world.nowMs();
    const names = { book: this.#book, custody: this.#custody, faultId: (id: string) => this.#faultIds.get(id) };
    const check = (index: number) => {
      const expectation = this.#scenario.expect[index];
      if (expectation === undefined) return this.#end({ kind: 'passed' });
      finalMismatches(expectation, this.#world, names, (wrong) => {
        if (wrong.length === 0) check(index + 1);
        else if (this.#world.nowMs() - beganMs < this.#options.settleMs) {
          this.#world.ask('wait', { ms: 50 }, () => check(index));
        } else this.#note(`expect[${index}]`, wrong, expectation.session, '', () => check(index + 1));
      });
    };
    check(0);
  }

  #injectAll(faults: readonly Fault[], then: () => void): void {
    const [first, ...rest] = faults;
    if (first === undefined) then();
    else this.#inject(first, () => this.#injectAll(rest, then));
  }

  /** A fault on a session waits until the session has its real id. */
  #inject(fault: Fault, then: () => void): void {
    const name = fault.at?.session;
    const session = name === undefined ? undefined : this.#book.note(name).id;
    if (name !== undefined && session === undefined) {
      this.#waiting.push(fault);
      then();
      return;
    }
    const real: Fault = session === undefined ? fault : ({ ...fault, at: { ...fault.at, session } } as Fault);
    this.#world.ask('inject', { fault: real }, (answer) => {
      if ('failure' in answer) {
        this.#end({ kind: 'unsupported', cause: `the fault ${fault.id ?? fault.fault}: ${answer.failure}` });
        return;
      }
      if (fault.id !== undefined) this.#faultIds.set(fault.id, answer.id);
      then();
    });
  }

  #arm(name: string, then: () => void): void {
    const isKnown = this.#book.note(name).id !== undefined;
    const due = isKnown ? this.#waiting.filter(({ at }) => at?.session === name) : [];
    this.#waiting = this.#waiting.filter((fault) => !due.includes(fault));
    this.#injectAll(due, then);
  }

  /** Notes failed expectations; the run continues. `known`: text of the last answer. */
  #note(
    where: string,
    mismatches: readonly Mismatch[],
    session: string | undefined,
    known: string,
    then: () => void,
  ): void {
    this.#explain(session, known, (cause) => {
      for (const mismatch of mismatches) this.#wrong.push({ what: `${where}: ${mismatchText(mismatch)}`, cause });
      then();
    });
  }

  #fail(kind: 'failed' | 'stuck', what: string, session: string | undefined): void {
    this.#explain(session, '', (cause) => this.#end({ kind, what, cause }));
  }

  /** The cause: the known text, the session's own record, and the triggered faults. */
  #explain(session: string | undefined, known: string, see: (cause: string) => void): void {
    const triggered = triggeredText(this.#world);
    const finish = (record: string) => {
      const cause = [known, record, triggered].filter((part) => part !== '').join('; ');
      see(cause === '' ? 'nothing is known of it' : cause);
    };
    const id = session === undefined ? undefined : this.#book.note(session).id;
    if (id === undefined) {
      finish('');
      return;
    }
    this.#world.ask('session', { sessionId: id }, (facts) => {
      if (facts === undefined) return finish(`session ${session} has no record`);
      const { state, reasonCode, attempt, culprits } = facts;
      this.#world.ask('events', {}, (events) => {
        const ever = blamed(events, new Set([id]));
        finish(`session ${session} is ${state} ${reasonCode}, attempt ${attempt}, and ${blameText(culprits, ever)}`);
      });
    });
  }

  #end(verdict: Verdict): void {
    if (this.#isOver) return;
    this.#learnKeys(this.#book.usedKeys(), () => {
      this.#isOver = true;
      const wrong = this.#book.wrongSignature(this.#options.verify);
      const twice = this.#custody.keyToldTwice();
      const [first] = this.#world.violations();
      if (first !== undefined) this.#done({ kind: 'violated', invariant: first.invariant, cause: first.text });
      else if (wrong !== undefined) {
        this.#done({ kind: 'violated', invariant: 'signature-verifies', cause: wrong });
      } else if (twice !== undefined) {
        this.#done({ kind: 'violated', invariant: 'one-intent-a-key', cause: twice });
      } else this.#done(this.#withWrong(verdict));
    });
  }

  /** The first failed expectation decides; the early end of the run comes after it. */
  #withWrong(verdict: Verdict): Verdict {
    const [first, ...others] = this.#wrong;
    if (first === undefined || verdict.kind === 'unsupported' || verdict.kind === 'violated') return verdict;
    const ending = verdict.kind === 'passed' ? [] : [verdict.what];
    const also = [...others.map(({ what }) => what), ...ending];
    return { kind: 'failed', ...first, ...(also.length > 0 && { also }) };
  }

  /** Learns the public keys and chain codes that verify signatures, from the sessions' records. */
  #learnKeys(names: readonly string[], then: () => void): void {
    const [first, ...rest] = names;
    if (first === undefined) {
      then();
      return;
    }
    this.#world.ask('session', { sessionId: this.#book.note(first).id ?? '' }, (facts) => {
      if (facts !== undefined) this.#book.learnKey(first, facts);
      this.#learnKeys(rest, then);
    });
  }
}

/** The faults that have triggered, in words; each once. */
function triggeredText(world: ScenarioWorld): string {
  const triggered = new Map<string, string>();
  for (const event of world.recording()) {
    if (event.kind !== 'fault' || event.what !== 'fired' || triggered.has(event.id)) continue;
    triggered.set(
      event.id,
      `${event.fault}${event.targets.length > 0 ? ` of ${event.targets.join(', ')}` : ''} at ${event.atMs} ms`,
    );
  }
  return triggered.size === 0 ? '' : `triggered: ${[...triggered.values()].slice(0, 8).join(', ')}`;
}

function stepText(step: ScenarioStep): string {
  if ('inject' in step) return `inject ${step.inject.fault}`;
  if ('heal' in step) return 'heal';
  if ('advance_ms' in step) return `advance ${step.advance_ms} ms`;
  if ('api' in step) return `${step.api}${byText(step)}`;
  if ('receiver' in step) return `receiver of ${step.receiver} answers ${step.answers.join(', ')}`;
  if (!('wait' in step)) return `${step.call}${'by' in step ? byText(step) : ''}${custodyText(step)}`;
  const { wait } = step;
  return `wait ${Object.entries(wait)
    .map(([name, value]) => `${name} ${value}`)
    .join(', ')}`;
}

function byText({ by }: { readonly by?: string }): string {
  return by === undefined ? '' : ` by ${by}`;
}

/** The text of a wallet API step, for reports. */
function custodyText(step: ScenarioStep): string {
  if (!('call' in step)) return '';
  if (step.call === 'transfer') return `: ${step.amount} from ${step.from} to ${step.to}`;
  if (step.call === 'vote') return `: ${step.decision ?? 'approve'} ${step.intent}`;
  return '';
}
