/** A route whose change takes a proposal while the tenant has change control. */
import { ServiceError } from '../../../gateway/api/errors/service-error.ts';
import type { Route } from '../../../gateway/api/route.ts';
import { readControl, unchangedControl } from './control.ts';

/** A guard binds the change to the control as it was read: when it is turned on in the meantime, the handler runs again. */
export function underControl(route: Route): Route {
  if (route.controlled === undefined) return route;
  return {
    ...route,
    handle: async (context, input) => {
      const answer = await route.handle(context, input);
      const { change } = answer;
      if (change === undefined) return answer;
      const control = await readControl(context);
      if (control.quorum > 0) throw proposalNeeded(route);
      return { ...answer, change: { ...change, guards: [...(change.guards ?? []), unchangedControl(control)] } };
    },
  };
}

function proposalNeeded({ operationId }: Route): ServiceError {
  const message = `propose it: POST /v1/change-proposals with the operation ${operationId}`;
  return new ServiceError('conflict', 'the tenant has change control: others approve this change first', {
    details: [{ field: '', issue: 'proposal_needed', message }],
  });
}
