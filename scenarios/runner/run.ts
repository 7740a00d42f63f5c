/**
 * Runs a scenario in a world: arms its faults, lets its clients act at the same time, and returns the outcome. It gets time and
 * processes only through the world's answers, so that one runner serves virtual and real time.
 *
 * The runner collects failed expectations and continues: the verdict lists them all, the first with its cause. A step that is
 * impossible or stuck ends the run. A violated invariant (such as an invalid signature) outranks all expectations.
 */

import { releasedVerifier, type SignatureVerifier } from '../../simulation/cluster/invariants/verifier.ts';
import { findCause } from './causes.ts';
import { type CallStep, StepCaller } from './client.ts';
import { CustodyBook } from './custody-book.ts';
import { CustodyCaller } from './custody-caller.ts';
import { type CallExpectation, type CustodyCall, isCustodyStep } from './custody-format.ts';
import { type CustodyOutcome, callMismatches, custodyOutcomeText } from './custody-outcome.ts';
import { type Mismatch, mismatchText, stepMismatches } from './expectations.ts';
import { FaultArming } from './fault-arming.ts';
import { finalMismatches } from './final.ts';
import type { CheckedScenario, ScenarioStep, StepOf } from './format.ts';
import { type CallEnd, outcomeText, type StepOutcome } from './outcome.ts';
import { ReferenceMissing, resolved } from './references.ts';
import { SessionBook } from './sessions.ts';
import { stepText } from './step-text.ts';
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

/** A call step under way. */
interface Called<O> {
  readonly where: string;
  readonly session: string | undefined;
  readonly textOf: (outcome: O) => string;
  /** The run continues where it cannot be done. */
  readonly passesOver: boolean;
  readonly mismatches: (outcome: O, tookMs: number) => readonly Mismatch[];
  readonly went: (text: string) => void;
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
  readonly #faults: FaultArming;
  /** Steps that have ended, by their names. */
  readonly #ended = new Set<string>();
  /** Mismatches so far, with their causes at that time. */
  readonly #wrong: { readonly what: string; readonly cause: string }[] = [];
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
    const { insistMs } = this.#options;
    this.#world = openUntil(world, () => this.#isOver);
    this.#book = new SessionBook(scenario, (name) => world.idOf(name));
    this.#faults = new FaultArming(this.#world, this.#book, (cause) => this.#end({ kind: 'unsupported', cause }));
    this.#caller = new StepCaller(this.#world, this.#book, insistMs, (name, then) =>
      this.#faults.sessionNamed(name, then),
    );
    this.#custodyCaller = new CustodyCaller(this.#world, this.#custody, insistMs);
  }

  start(): void {
    const { worlds, faults, clients } = this.#scenario;
    if (!worlds.includes(this.#world.kind)) {
      const cause = `the scenario is for the ${worlds.join(' and ')} world, and this is the ${this.#world.kind} one`;
      this.#end({ kind: 'unsupported', cause });
      return;
    }
    this.#faults.injectAll(faults, () => {
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
    if ('inject' in step) this.#faults.inject(step.inject, () => went('armed'));
    else if ('heal' in step) this.#world.ask('heal', {}, () => went('healed'));
    else if ('advance_ms' in step) {
      this.#world.ask('advance', { byMs: step.advance_ms }, () => went(`${step.advance_ms} ms later`));
    } else if ('receiver' in step) {
      this.#world.ask('receiver', { name: step.receiver, answers: step.answers }, () => went('it answers so'));
    } else if ('wait' in step) this.#await(step.wait, where, went);
    else if (isCustodyStep(step)) this.#callApi(step, where, went);
    else this.#callSigning(step, where, went);
  }

  #await(wait: StepOf<'wait'>['wait'], where: string, went: (text: string) => void): void {
    const names = {
      session: (name: string) => this.#book.note(name).id,
      fault: (id: string) => this.#faults.idOf(id),
      ended: (name: string) => this.#ended.has(name),
      custody: this.#custody,
    };
    awaitCondition(wait, this.#world, names, (failed) => {
      if (failed === undefined) went('it is so');
      else this.#fail('stuck', `${where}: ${failed}`, wait.session);
    });
  }

  #callSigning(step: CallStep, where: string, went: (text: string) => void): void {
    const { expect, session } = step;
    const { passesOver } = this.#options;
    const mismatches = (outcome: StepOutcome, tookMs: number) =>
      expect === undefined ? [] : stepMismatches(expect, outcome, tookMs, this.#world.kind);
    const evaluate = this.#evaluation({ where, session, textOf: outcomeText, passesOver, mismatches, went });
    this.#caller.perform(step, evaluate);
  }

  #callApi(step: CustodyCall, where: string, went: (text: string) => void): void {
    const answerOf = (other: string) => this.#custody.answer(other);
    const mismatches = (outcome: CustodyOutcome, tookMs: number) => {
      const expect = resolved(step.expect ?? {}, answerOf) as CallExpectation;
      return callMismatches(expect, outcome, tookMs, this.#world.kind, answerOf);
    };
    const passesOver = this.#options.passesOver || step.expect?.http === 'any';
    const called = { where, session: undefined, textOf: custodyOutcomeText, passesOver, mismatches, went };
    const evaluate = this.#evaluation(called);
    this.#custodyCaller.perform(step, evaluate);
  }

  /** Evaluates the end of a call that begins now. */
  #evaluation<O>({ where, session, textOf, passesOver, mismatches, went }: Called<O>): (end: CallEnd<O>) => void {
    const beganMs = this.#world.nowMs();
    return (end) => {
      if (end.kind === 'impossible') {
        if (passesOver) went(end.why);
        else this.#fail('failed', `${where} cannot be done: ${end.why}`, session);
        return;
      }
      const text = textOf(end.outcome);
      if (end.kind === 'stuck') {
        this.#fail('stuck', `${where} waits for ${end.waitsFor}; last: ${text}`, session);
        return;
      }
      let wrong: readonly Mismatch[];
      try {
        wrong = mismatches(end.outcome, this.#world.nowMs() - beganMs);
      } catch (error) {
        if (!(error instanceof ReferenceMissing)) throw error;
        this.#fail('failed', `${where}: expect cannot be held against the answer: ${error.message}`, session);
        return;
      }
      if (wrong.length === 0) went(text);
      else this.#note(where, wrong, session, text, () => went(text));
    };
  }

  /** All clients are done: checks the final expectations, now or until they hold. */
  #finish(): void {
    const beganMs = this.#world.nowMs();
    const names = { book: this.#book, custody: this.#custody, faultId: (id: string) => this.#faults.idOf(id) };
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

  /** Notes failed expectations; the run continues. `known`: text of the last answer. */
  #note(
    where: string,
    mismatches: readonly Mismatch[],
    session: string | undefined,
    known: string,
    then: () => void,
  ): void {
    findCause(this.#world, this.#book, session, known, (cause) => {
      for (const mismatch of mismatches) this.#wrong.push({ what: `${where}: ${mismatchText(mismatch)}`, cause });
      then();
    });
  }

  #fail(kind: 'failed' | 'stuck', what: string, session: string | undefined): void {
    findCause(this.#world, this.#book, session, '', (cause) => this.#end({ kind, what, cause }));
  }

  #end(verdict: Verdict): void {
    if (this.#isOver) return;
    this.#learnKeys(this.#book.usedKeys(), () => {
      this.#isOver = true;
      this.#done(this.#violated() ?? this.#withWrong(verdict));
    });
  }

  #violated(): Verdict | undefined {
    const violated = (invariant: string, cause: string): Verdict => ({ kind: 'violated', invariant, cause });
    const wrong = this.#book.wrongSignature(this.#options.verify);
    const twice = this.#custody.keyToldTwice();
    const [first] = this.#world.violations();
    if (first !== undefined) return violated(first.invariant, first.text);
    if (wrong !== undefined) return violated('signature-verifies', wrong);
    return twice === undefined ? undefined : violated('one-intent-a-key', twice);
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

/** The same world, whose answers count until the run is over. */
function openUntil(world: ScenarioWorld, isOver: () => boolean): ScenarioWorld {
  return {
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
      if (isOver()) return;
      world.ask(question, asks, (answer) => {
        if (!isOver()) gets(answer);
      });
    },
  };
}
