/** A recorder that knows the operations of scenario files; loaded when something is recorded. */
import { decodeProtoJson } from '../../gateway/api/proto-json.ts';
import { callRequest, signingMethods } from '../../gateway/api/signing-methods.ts';
import { operations } from '../../scenarios/runner/generated-operations.ts';
import { ServiceRecorder } from './service-recorder.ts';

const byRoute = new Set(Object.values(operations).map(({ method, path }) => `${method} ${path}`));
const ofSigning = new Set(signingMethods.map(({ httpPath }) => httpPath));
/** Recorded as orders; operations that only read change nothing. */
const ofSandbox = /^\/v1\/sandbox\/(faults|nodes|clock|reset|snapshots|recording|stream)/;

/** `nowMs`: of a clock that never jumps. */
export function startRecording(nowMs: () => number): ServiceRecorder {
  return new ServiceRecorder({
    nowMs,
    isSayable: (method, route) => byRoute.has(`${method} ${route}`),
    isRecordedElsewhere: (route) => ofSigning.has(route) || ofSandbox.test(route),
    routeAt: (method, path) => {
      const found = Object.values(operations).find((one) => one.method === method && patternOf(one.path).test(path));
      return found?.path ?? (ofSigning.has(path) ? path : undefined);
    },
    callAt: (path, body) => {
      const method = signingMethods.find(({ httpPath }) => httpPath === path);
      try {
        const { message } = method === undefined ? {} : decodeProtoJson(method.request, JSON.parse(body));
        return method && message && callRequest(method, message);
      } catch {
        return undefined;
      }
    },
    readerOf: (method, route) => {
      const reader = Object.values(operations).find(
        (one) => one.method === 'GET' && one.path.replace(/\/:[A-Za-z]+$/, '') === route && one.path !== route,
      );
      return method === 'POST' ? reader?.path : undefined;
    },
  });
}

function patternOf(path: string): RegExp {
  return new RegExp(`^${path.replaceAll('.', '[.]').replace(/:[A-Za-z]+/g, '[^/]+')}$`);
}
