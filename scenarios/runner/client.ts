/**
 * One client of a scenario: it runs its steps in order and reports the result of each. A step that insists repeats a call without
 * an answer, and resumes a paused session, as a patient client of the API does.
 */
import type { ReadSessionsResponse } from '../../proto/gen/signmesh/wire/v1/sessions_pb.ts';
import type { StepOf } from './format.ts';
import { type CallEnd, outcomeOf, type StepOutcome } from './outcome.ts';
import * as requests from './requests.ts';
import type { DkgScenarioStep, SessionBook, SigningScenarioStep } from './sessions.ts';
import type { Questions, ScenarioWorld } from './world.ts';

type Call = Questions['call' | 'walletCall']['asks'];
export type CallStep = SessionStep | StepOf<'read_sessions'>;
/** A call about one session. */
type SessionStep =
  | DkgScenarioStep
  | SigningScenarioStep
  | StepOf<
      | 'exchange_dkg_shares'
      | 'submit_signature_share'
      | 'resume_session'
      | 'refresh_key'
      | 'close_key'
      | 'inspect_session'
      | 'preview_partial'
    >;

type Ended = CallEnd<StepOutcome>;

/** The pause of a client that insists, before it repeats a call. */
const pauseMs = 100;
/** It repeats at least this often: two unanswered calls take a minute. */
const attemptsMin = 4;

export class StepCaller {
  readonly #world: ScenarioWorld;
  readonly #book: SessionBook;
  readonly #insistMs: number;
  readonly #learned: (name: string, then: () => void) => void;

  /** `learned` is called when a session may have got its id, and calls back when the client may continue. */
  constructor(
    world: ScenarioWorld,
    book: SessionBook,
    insistMs: number,
    learned: (name: string, then: () => void) => void,
  ) {
    this.#world = world;
    this.#book = book;
    this.#insistMs = insistMs;
    this.#learned = learned;
  }

  perform(step: CallStep, end: (ended: Ended) => void): void {
    switch (step.call) {
      case 'initiate_dkg':
        this.#insist(step, () => requests.initiateDkg(step, this.#book, this.#world), end);
        return;
      case 'exchange_dkg_shares':
        this.#insist(step, () => requests.exchangeDkgShares(step, this.#book, this.#world), end);
        return;
      case 'make_key':
        if (step.wallet_service) this.#insist(step, () => requests.makeWalletKey(step, this.#book, this.#world), end);
        else this.#makeKey(step, end);
        return;
      case 'initiate_signing':
        this.#insist(step, () => requests.initiateSigning(step, this.#book, this.#world), end);
        return;
      case 'sign':
        if (step.wallet_service) this.#signForWallet(step, end);
        else this.#sign(step, end);
        return;
      case 'refresh_key':
        this.#insist(step, () => requests.refreshKey(step, this.#world), end);
        return;
      case 'close_key':
        this.#insist(step, () => requests.closeKey(step, this.#world), end);
        return;
      case 'inspect_session':
        this.#insist(step, () => requests.inspectSession(this.#book.note(step.session).id ?? ''), end);
        return;
      case 'preview_partial':
        this.#insist(step, () => requests.previewPartial(this.#book.note(step.session).id ?? '', step.node), end);
        return;
      case 'submit_signature_share':
        this.#submit(step, end);
        return;
      case 'resume_session': {
        const { id, tokens } = this.#book.note(step.session);
        const token = requests.tokenOf(step.token ?? 'latest', tokens);
        this.#insist(step, () => requests.resumeSession(id ?? '', token, step.witness === true), end);
        return;
      }
      case 'read_sessions':
        this.#read(step, step.pages ?? 1, end);
    }
  }

  /** One session, or page after page. */
  #read(
    step: StepOf<'read_sessions'>,
    pagesLeft: number,
    end: (ended: Ended) => void,
    after?: ReadSessionsResponse,
  ): void {
    const { session } = step;
    // A session without an answer has no id: no session has its name.
    const id = session === undefined ? '' : (this.#book.note(session).id ?? session);
    const wanted = requests.readSessions(step, id, after);
    const asks = step.alter === undefined ? wanted : requests.alteredCall(wanted, step.alter);
    this.#world.ask('walletCall', asks, (gets) => {
      const page = 'response' in gets && 'nextId' in gets.response ? gets.response : undefined;
      if (page === undefined || page.nextId === '' || pagesLeft <= 1) {
        end({ kind: 'answered', outcome: outcomeOf(asks.name, gets) });
      } else this.#read(step, pagesLeft - 1, end, page);
    });
  }

  #makeKey(step: DkgScenarioStep, end: (ended: Ended) => void): void {
    this.#insist(
      step,
      () => requests.initiateDkg(step, this.#book, this.#world),
      (begun) => {
        const code = begun.kind === 'answered' ? begun.outcome.answer?.reasonCode : undefined;
        const goesOn = code === 'SESSION_ACCEPTED' || (step.insist === true && code === 'DUPLICATE_SESSION');
        if (!goesOn) end(begun);
        else
          this.#insist(step, () => requests.exchangeDkgShares({ session: step.session }, this.#book, this.#world), end);
      },
    );
  }

  #sign(step: SigningScenarioStep, end: (ended: Ended) => void): void {
    this.#insist(
      step,
      () => requests.initiateSigning(step, this.#book, this.#world),
      (begun) => {
        const answer = begun.kind === 'answered' ? begun.outcome.answer : undefined;
        const open = answer?.state === 'ACCEPTED' || answer?.state === 'RESUMED';
        const goesOn = open || (step.insist === true && answer?.reasonCode === 'DUPLICATE_INTENT');
        if (!goesOn) end(begun);
        else this.#insist(step, () => requests.submitSignatureShare(this.#book.note(step.session).id ?? '', 0), end);
      },
    );
  }

  /** The session of a call whose answer was lost continues by its id, as the wallet service does. */
  #signForWallet(step: SigningScenarioStep, end: (ended: Ended) => void): void {
    this.#insist(
      step,
      () => requests.signForWallet(step, this.#book, this.#world),
      (signed) => {
        const answer = signed.kind === 'answered' ? signed.outcome.answer : undefined;
        if (step.insist !== true || answer?.reasonCode !== 'DUPLICATE_INTENT') end(signed);
        else this.#insist(step, () => requests.submitSignatureShare(answer.sessionId, 0), end);
      },
    );
  }

  #submit(step: StepOf<'submit_signature_share'>, end: (ended: Ended) => void): void {
    const sessionId = this.#book.note(step.session).id ?? '';
    const nodeId = step.node ?? 0;
    if (step.client_supplied === undefined) {
      this.#insist(step, () => requests.submitSignatureShare(sessionId, nodeId), end);
      return;
    }
    const beganMs = this.#world.nowMs();
    const attempt = (): void =>
      this.#world.ask('previewPartial', { sessionId, nodeId }, (preview) => {
        if ('failure' in preview) {
          const mayRepeat = step.insist === true && this.#world.nowMs() - beganMs < this.#insistMs;
          if (mayRepeat) this.#world.ask('wait', { ms: pauseMs }, attempt);
          else end({ kind: 'impossible', why: `node ${nodeId} has no partial to show: ${preview.failure}` });
          return;
        }
        const { curve } = this.#book.terms(this.#book.signing(step.session).key);
        const given =
          step.client_supplied === 'right' ? preview.partial : requests.spoiledPartial(preview.partial, curve);
        this.#insist(step, () => requests.submitSignatureShare(sessionId, nodeId, given), end);
      });
    attempt();
  }

  /** One call; with `insist` as many as needed. */
  #insist(step: SessionStep, request: () => Call, end: (ended: Ended) => void): void {
    const { insist = false, session } = step;
    const beganMs = this.#world.nowMs();
    let attempts = 0;
    const attempt = () => {
      attempts += 1;
      this.#call(session, step, request(), (outcome) => {
        const next = insist ? whatHelps(outcome) : 'done';
        if (next === 'done') return end({ kind: 'answered', outcome });
        if (attempts >= attemptsMin && this.#world.nowMs() - beganMs >= this.#insistMs) {
          return end({ kind: 'stuck', waitsFor: `${inFile(outcome.call)} of ${session} to come to an end`, outcome });
        }
        if (next === 'repeat') return pause(outcome.failure?.retryAfterS);
        return this.#resume(step, outcome, (resumed) => {
          if (resumed.answer === undefined || opensAgain.has(resumed.answer.reasonCode)) pause();
          else end({ kind: 'answered', outcome: resumed });
        });
      });
    };
    const pause = (retryAfterS = 0) => this.#world.ask('wait', { ms: Math.max(pauseMs, 1_000 * retryAfterS) }, attempt);
    attempt();
  }

  #resume(step: SessionStep, paused: StepOutcome, then: (outcome: StepOutcome) => void): void {
    const { sessionId, resumeToken } = paused.answer!;
    const witness = 'witness' in step && step.witness === true;
    this.#call(step.session, step, requests.resumeSession(sessionId, resumeToken, witness), then);
  }

  #call(session: string, step: SessionStep, wanted: Call, then: (outcome: StepOutcome) => void): void {
    const asks = step.alter === undefined ? wanted : requests.alteredCall(wanted, step.alter);
    const heard = (gets: Questions['call' | 'walletCall']['gets']) => {
      const outcome = outcomeOf(asks.name, gets);
      const opens = (asks.name === 'initiateSigning' || asks.name === 'sign') && 'key' in step;
      // An altered call is about something else, and a refresh has a session of its own.
      if (outcome.answer !== undefined && step.alter === undefined && step.call !== 'refresh_key')
        this.#book.learn(session, outcome.answer, opens ? step : undefined);
      this.#learned(session, () => then(outcome));
    };
    switch (asks.name) {
      case 'makeKey':
      case 'sign':
      case 'closeKey':
      case 'inspectSession':
      case 'previewPartial':
      case 'readSessions':
        this.#world.ask('walletCall', asks, heard);
        return;
      default:
        this.#world.ask('call', { ...asks, transport: step.transport, deadlineMs: step.deadline_ms }, heard);
    }
  }
}

/** Answers to a resume after which the session is open, or may be, by this or another client's resume. */
const opensAgain = new Set(['SESSION_RESUMED', 'RESUME_TOKEN_REUSED', 'RESUME_TOKEN_INVALID', 'SESSION_NOT_RESUMABLE']);

/** The next action of a patient client, which cannot give a human's approval. */
function whatHelps({ call, answer, failure }: StepOutcome): 'done' | 'repeat' | 'resume' {
  if (failure !== undefined) return failure.kind === 'MALFORMED' ? 'done' : 'repeat';
  if (call === 'resumeSession' || call === 'inspectSession' || call === 'previewPartial') return 'done';
  if (call === 'closeKey') return answer!.pendingNodes!.length > 0 ? 'repeat' : 'done';
  // Such a call, repeated, resumes or replaces what failed.
  const continuesItself = call === 'makeKey' || call === 'sign' || call === 'refreshKey';
  if (continuesItself && answer!.sessionState === 'BACKEND_FAILED') return 'repeat';
  if (answer!.resumable && answer!.sessionState === 'BACKEND_FAILED' && answer!.resumeToken !== '') return 'resume';
  return answer!.reasonCode === 'NODES_UNAVAILABLE' ? 'repeat' : 'done';
}

/** The name of a call in scenario files. */
function inFile(call: string): string {
  return call.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}
