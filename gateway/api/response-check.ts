/** Checks answers against the schemas of their route, when tests turn it on. */
import type { TSchema } from 'typebox';
import { Compile, type Validator } from 'typebox/compile';
import type { Route } from './route.ts';
import type { RouteOutcome } from './stored-answers.ts';

/** Compiled at the first answer of each schema: a simulated world starts many gateways. */
const compiled = new WeakMap<TSchema, Validator>();

/** Throws an Error that names route, status and faults. */
export function responseCheck(route: Route): (outcome: RouteOutcome) => void {
  const schemas = new Map(Object.entries(route.responses).map(([status, { schema }]) => [Number(status), schema]));
  return (outcome) => {
    if (outcome.kind === 'error') return;
    const { status, body, stream } = outcome.answer;
    const name = `${route.operationId} ${status}`;
    if (!schemas.has(status)) throw new Error(`${name}: the status is not declared`);
    if (stream !== undefined) return;
    const schema = schemas.get(status);
    if (schema === undefined) {
      if (body !== undefined) throw new Error(`${name}: there is a body, and none is declared`);
      return;
    }
    // As the caller gets it: without undefined fields.
    const sent: unknown = body === undefined ? undefined : JSON.parse(JSON.stringify(body));
    const check = validatorOf(schema);
    if (check.Check(sent)) return;
    const faults = check.Errors(sent).slice(0, 5);
    const texts = faults.map(({ instancePath, message }) => `${instancePath} ${message}`);
    throw new Error(`${name}: the body does not match: ${texts.join('; ')}`);
  };
}

function validatorOf(schema: TSchema): Validator {
  const known = compiled.get(schema);
  if (known !== undefined) return known;
  const made = Compile(schema);
  compiled.set(schema, made);
  return made;
}
