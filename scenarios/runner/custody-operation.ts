/** An operation of the wallet API, in terms of scenario files. */
import type { ScenarioSchema } from './explain.ts';

export interface CustodyOperation {
  readonly method: string;
  /** With ":name" parameters. */
  readonly path: string;
  readonly query?: ScenarioSchema;
  readonly body?: ScenarioSchema;
  readonly bodyOptional?: boolean;
  /** Takes an Idempotency-Key. */
  readonly keyed?: boolean;
  /** The fields of its answer by name; 0: a value, or any fields; a list: the shape of its items; null: no body. */
  readonly answer: AnswerShape | null;
}

export type AnswerShape = 0 | readonly AnswerShape[] | { readonly [field: string]: AnswerShape };
