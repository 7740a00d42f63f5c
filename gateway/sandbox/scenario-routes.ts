/** /v1/sandbox/scenarios: runs a scenario file on this sandbox, by the runner of `signmesh scenario run --live`. */
import Type from 'typebox';
import { timestamp, timestampOrNull } from '../../proto/timestamps.ts';
import type { ScenarioStatus } from '../../scenarios/faults/control.ts';
import { type Route, route } from '../api/route.ts';
import { Closed, Nullable, OneOf, Timestamp } from '../api/schema-kit.ts';
import { act, ask, whoDid } from './control.ts';
import type { SandboxDeps } from './deps.ts';
import { common } from './shared.ts';

const fileCharsMax = 200_000;

export const ScenarioView = Closed(
  {
    scenario: Type.String({ description: 'its name' }),
    state: OneOf(['running', 'passed', 'failed', 'violated', 'stuck', 'ended', 'broken'], {
      description: '`ended`: by a caller; `broken`: the sandbox no longer answered it',
    }),
    started_at: Timestamp,
    ended_at: Nullable(Type.String({ format: 'date-time', description: 'null: it runs' })),
    steps: Type.Integer({ minimum: 0, description: 'of all its clients' }),
    begun: Type.Integer({ minimum: 0, description: 'steps that have begun' }),
    step: Nullable(Type.String({ description: 'the one that began last; null: none yet' })),
    cause: Type.String({ description: 'why it did not pass; empty: it did, or it runs' }),
  },
  { title: 'SandboxScenario' },
);

export function scenarioView({ startedMs, endedMs, ...status }: ScenarioStatus) {
  return { ...status, started_at: timestamp(startedMs), ended_at: timestampOrNull(endedMs) };
}

export function scenarioRoutes({ control }: Pick<SandboxDeps, 'control'>): readonly Route[] {
  return [
    route({
      ...common,
      method: 'POST',
      path: '/v1/sandbox/scenarios',
      operationId: 'startSandboxScenario',
      clientName: 'sandbox.startScenario',
      example: {
        file: 'scenario: one-key\nabout: A key is made.\nsteps:\n  - { step: key, call: make_key, session: k }\n',
      },
      summary: 'Run a scenario file on this sandbox; one at a time',
      description:
        'It acts with the sandbox’s own token, on what is there: `reset` makes the sandbox start afresh first, and loses its data. ' +
        'The stream has its progress. Afterwards the sandbox is healed: no faults, every process up. 422 `not_supported`, before anything ' +
        'happens, names what the file needs and this cluster does not have.',
      body: Closed({
        file: Type.String({
          minLength: 1,
          maxLength: fileCharsMax,
          description: 'the YAML of the file: docs/scenarios.md',
        }),
        reset: Type.Optional(Type.Boolean({ description: 'start afresh first; false by default' })),
      }),
      errors: [409, 422],
      responses: { 202: { description: 'It runs', schema: ScenarioView } },
      handle: async (context, { body: { file, reset = false } }) => {
        const { scenario } = await ask(control, 'scenarios.start', { file, reset });
        context.log.info(whoDid(context, 'scenarios.start', { scenario: scenario.scenario, reset }), 'a scenario runs');
        return { status: 202, body: scenarioView(scenario) };
      },
    }),
    route({
      ...common,
      method: 'GET',
      path: '/v1/sandbox/scenarios',
      operationId: 'getSandboxScenario',
      clientName: 'sandbox.scenario',
      summary: 'Read the scenario that runs, or that ran last',
      responses: {
        200: { description: 'null: none ran', schema: Closed({ scenario: Nullable(ScenarioView) }) },
      },
      handle: async () => {
        const { scenario } = await ask(control, 'scenarios.get', {});
        return { status: 200, body: { scenario: scenario === null ? null : scenarioView(scenario) } };
      },
    }),
    route({
      ...common,
      method: 'DELETE',
      path: '/v1/sandbox/scenarios',
      operationId: 'endSandboxScenario',
      clientName: 'sandbox.endScenario',
      summary: 'End the scenario that runs, and heal the sandbox',
      errors: [404],
      responses: { 200: { description: 'As it ended', schema: ScenarioView } },
      handle: async (context) => {
        const { scenario } = await act(context, control, 'scenarios.end', {});
        return { status: 200, body: scenarioView(scenario) };
      },
    }),
  ];
}
