/** The generated parts of docs/sandbox-api.md: routes with their inputs and outputs, from the routes themselves. */
import type { TSchema } from 'typebox';
import type { Route } from '../../gateway/api/route.ts';
import { FrameView } from '../../gateway/sandbox/event-schemas.ts';
import { StreamBatch, StreamFigures, StreamHello } from '../../gateway/sandbox/stream-schemas.ts';
import { faultKinds, faultSchemas } from '../../scenarios/faults/vocabulary/fault.ts';
import { simulatedOnly } from '../../scenarios/faults/vocabulary/kinds.ts';
import { sandboxRoutes } from './rest-routes.ts';
import { answerTable, itemsOf, requestTable } from './schemas.ts';
import { code, table, withSections } from './sections.ts';

/** The page as it must be, from the present page: hand-written parts stay. */
export function sandboxApiPage(page: string): string {
  const routes = sandboxRoutes();
  const answerOf = (operationId: string, status: number): TSchema => {
    const schema = routes.find((route) => route.operationId === operationId)?.responses[status]?.schema;
    if (schema === undefined) throw new Error(`${operationId} has no answer ${status}`);
    return schema;
  };
  const bodyOf = (operationId: string): TSchema => {
    const body = routes.find((route) => route.operationId === operationId)?.body;
    if (body === undefined) throw new Error(`${operationId} takes no body`);
    return body;
  };
  return withSections(
    page,
    new Map([
      ['endpoints', endpointTable(routes)],
      ['fault kinds', faultTable()],
      ['fields of a fault', answerTable(answerOf('createSandboxFault', 201))],
      ['fields of a node', answerTable(itemsOf(answerOf('listSandboxNodes', 200), 'nodes'))],
      ['fields of a crash', requestTable(bodyOf('crashSandboxNode'))],
      ['fields of a session', answerTable(answerOf('getSandboxSession', 200))],
      ['fields of a frame', answerTable(FrameView)],
      ['fields of a partial', answerTable(answerOf('previewSandboxPartial', 200))],
      ['fields of an advance', requestTable(bodyOf('advanceSandboxClock'))],
      ['fields of a clock', answerTable(answerOf('getSandboxClock', 200))],
      ['fields of a snapshot', answerTable(answerOf('takeSandboxSnapshot', 201))],
      ['fields of a recording', answerTable(answerOf('readSandboxRecording', 200))],
      ['kinds of events', eventTable(itemsOf(answerOf('readSandboxRecording', 200), 'events'))],
      ['fields of a hello', answerTable(StreamHello)],
      ['fields of a batch', answerTable(StreamBatch)],
      ['fields of a seen session', answerTable(itemsOf(StreamHello, 'sessions'))],
      ['fields of figures', answerTable(StreamFigures)],
      ['fields of a request', answerTable(answerOf('getSandboxRequest', 200))],
      ['fields of an inbox', answerTable(answerOf('getSandboxInbox', 200))],
      ['fields of a new token', requestTable(bodyOf('issueSandboxToken'))],
      ['fields of a token', answerTable(answerOf('issueSandboxToken', 201))],
      ['fields of a receiver', answerTable(answerOf('getSandboxReceiver', 200))],
    ]),
  );
}

function endpointTable(routes: readonly Route[]): string {
  const rows = routes.map((route) => [
    code(`${route.method} ${route.path}`),
    route.summary,
    route.scope === undefined ? 'none' : code(route.scope),
    Object.keys(route.responses).join(', '),
  ]);
  return table(['Endpoint', 'What it does', 'Scope', 'Answers'], rows);
}

interface ObjectSchema {
  readonly description?: string;
  readonly properties: Readonly<Record<string, { readonly const?: unknown }>>;
  readonly required?: readonly string[];
}

/** The text above covers the fields that every kind has. */
const everywhere = ['fault', 'id', 'at', 'probability', 'count', 'for_ms'];

function faultTable(): string {
  const rows = faultKinds.map((kind) => {
    const { description = '', properties, required = [] } = faultSchemas[kind] as unknown as ObjectSchema;
    const own = Object.keys(properties).filter((name) => !everywhere.includes(name) || required.includes(name));
    const fields = own.filter((name) => name !== 'fault').map((name) => mark(name, required));
    return [code(kind), description, fields.join(', '), simulatedOnly[kind] === undefined ? 'yes' : 'no (422)'];
  });
  return table(['`fault`', 'What happens', 'Its fields (required in bold)', 'Live'], rows);
}

function mark(name: string, required: readonly string[]): string {
  return required.includes(name) ? `**${code(name)}**` : code(name);
}

function eventTable(union: TSchema): string {
  const { anyOf } = union as unknown as { anyOf: readonly ObjectSchema[] };
  const rows = anyOf.map(({ properties }) => [
    code(String(properties.kind?.const)),
    Object.keys(properties)
      .filter((name) => name !== 'kind' && name !== 'at_ms')
      .map(code)
      .join(', '),
  ]);
  return table(['`kind`', 'Fields, besides `at_ms`'], rows);
}
