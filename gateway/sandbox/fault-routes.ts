/** /v1/sandbox/faults and /v1/sandbox/steps: arms, lists and removes faults, and announces steps. */
import Type from 'typebox';
import { withProcessNames } from '../../scenarios/faults/cluster-names.ts';
import type { Fault } from '../../scenarios/faults/vocabulary/fault.ts';
import { type Route, route } from '../api/route.ts';
import { Closed, Line, PathId } from '../api/schema-kit.ts';
import { noSuch } from '../api/visibility.ts';
import { act, ask } from './control.ts';
import type { SandboxDeps } from './deps.ts';
import { FaultBody, FaultList, FaultView, faultLifetime, faultView } from './fault-schemas.ts';
import { common, wholeList } from './shared.ts';

const params = Closed({ id: PathId('fault id') });

export function faultRoutes({ control }: Pick<SandboxDeps, 'control'>): readonly Route[] {
  return [
    route({
      ...common,
      method: 'POST',
      path: '/v1/sandbox/faults',
      operationId: 'createSandboxFault',
      clientName: 'sandbox.createFault',
      example: { fault: 'drop', target: 'node/2', expires_in_s: 5 },
      summary: 'Arm a fault',
      description:
        'The body is a fault of docs/faults.md, as in scenario files, and `expires_in_s`. Give it an `id` to make ' +
        'the request safe to repeat: an id in use is a 409. A fault that this sandbox does not support is a 422.',
      body: FaultBody,
      responses: { 201: { description: 'The fault, armed', schema: FaultView } },
      errors: [422],
      handle: async (context, { body }) => {
        const { expires_in_s: expiresInS = faultLifetime.defaultS, ...fault } = body;
        const takes = { fault: withProcessNames(fault as Fault), expiresInMs: expiresInS * 1_000 };
        const gives = await act(context, control, 'faults.create', takes);
        return { status: 201, body: faultView(gives.fault) };
      },
    }),
    route({
      ...common,
      method: 'GET',
      path: '/v1/sandbox/faults',
      operationId: 'listSandboxFaults',
      clientName: 'sandbox.faults',
      summary: 'List the faults that are armed, and those that ended lately',
      description: 'Lists all of them in one page.',
      responses: { 200: { description: 'Every fault', schema: FaultList } },
      handle: async () => {
        const { faults } = await ask(control, 'faults.list', {});
        return { status: 200, body: wholeList('faults', faults.map(faultView)) };
      },
    }),
    route({
      ...common,
      method: 'GET',
      path: '/v1/sandbox/faults/:id',
      operationId: 'getSandboxFault',
      clientName: 'sandbox.fault',
      summary: 'Read a fault',
      params,
      responses: { 200: { description: 'The fault', schema: FaultView } },
      handle: async (_, { params: { id } }) => {
        const { faults } = await ask(control, 'faults.list', {});
        const found = faults.find((fault) => fault.id === id);
        if (found === undefined) throw noSuch('fault');
        return { status: 200, body: faultView(found) };
      },
    }),
    route({
      ...common,
      method: 'DELETE',
      path: '/v1/sandbox/faults/:id',
      operationId: 'deleteSandboxFault',
      clientName: 'sandbox.deleteFault',
      summary: 'Remove a fault, and end its effect',
      params,
      responses: { 204: { description: 'It is gone' } },
      handle: async (context, { params: { id } }) => {
        await act(context, control, 'faults.delete', { id });
        return { status: 204 };
      },
    }),
    route({
      ...common,
      method: 'POST',
      path: '/v1/sandbox/faults/reset',
      operationId: 'resetSandboxFaults',
      clientName: 'sandbox.resetFaults',
      summary: 'Remove every fault: held frames arrive, paused processes resume',
      responses: {
        200: {
          description: 'How many were removed',
          schema: Closed({ removed: Type.Integer({ minimum: 0 }) }),
        },
      },
      handle: async (context) => {
        const { removed } = await act(context, control, 'faults.reset', {});
        return { status: 200, body: { removed } };
      },
    }),
    route({
      ...common,
      method: 'POST',
      path: '/v1/sandbox/steps',
      operationId: 'beginSandboxStep',
      clientName: 'sandbox.beginStep',
      example: { step: 'pay' },
      summary: 'Announce that a step of a scenario begins, to trigger faults that name it',
      body: Closed({ step: Line(100, 'its name') }),
      responses: { 204: { description: 'It is known' } },
      handle: async (context, { body: { step } }) => {
        await act(context, control, 'faults.step', { step });
        return { status: 204 };
      },
    }),
  ];
}
