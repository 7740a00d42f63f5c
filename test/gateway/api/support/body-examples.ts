/** The example of every operation with a body, by operation. */
import { signingExamples } from '../../../../gateway/openapi/signing.ts';
import { restRoutes, sandboxRoutes } from '../../../../tools/docs/rest-routes.ts';

export const bodyExamples: Readonly<Record<string, object>> = {
  ...Object.fromEntries(
    [...restRoutes(), ...sandboxRoutes()].flatMap(({ operationId, example }) =>
      example === undefined ? [] : [[operationId, example]],
    ),
  ),
  ...signingExamples,
};
