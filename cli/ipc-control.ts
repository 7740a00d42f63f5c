/**
 * The gateway's control of a sandbox's processes: it sends each question over the channel to `signmesh up`, and gets the answer
 * back. Without a channel it refuses every question with the reason.
 */
import {
  type ControlAnswer,
  ControlError,
  type ControlGives,
  type ControlMethod,
  type ControlRequest,
  type ControlTakes,
  type SandboxControl,
} from '../scenarios/faults/control.ts';

const answerWithinMs = 30_000;

interface Open {
  readonly resolve: (gives: never) => void;
  readonly reject: (error: ControlError) => void;
  readonly timer: NodeJS.Timeout;
}

/** Over the channel of this process. */
export function ipcControl(): SandboxControl {
  const open = new Map<number, Open>();
  let lastId = 0;
  const settle = (id: number): Open | undefined => {
    const asked = open.get(id);
    clearTimeout(asked?.timer);
    open.delete(id);
    return asked;
  };
  process.on('message', (message) => {
    if (!isAnswer(message)) return;
    const asked = settle(message.id);
    if (message.fault) asked?.reject(new ControlError(message.fault));
    else asked?.resolve(message.gives as never);
  });
  return {
    ask<M extends ControlMethod>(method: M, takes: ControlTakes<M>): Promise<ControlGives<M>> {
      return new Promise((resolve, reject) => {
        lastId += 1;
        const id = lastId;
        const away = (why: string) => settle(id)?.reject(new ControlError({ code: 'unavailable', message: why }));
        const late = `the process supervisor did not answer within ${answerWithinMs / 1000} s`;
        const timer = setTimeout(() => away(late), answerWithinMs);
        open.set(id, { resolve, reject, timer });
        const request: ControlRequest = { kind: 'control', id, method, takes };
        if (process.send === undefined || !process.connected) away('the process supervisor has ended');
        else {
          process.send(request, undefined, undefined, (error) => {
            if (error) away('the process supervisor is unreachable');
          });
        }
      });
    },
  };
}

export function refusingControl(message: string): SandboxControl {
  return { ask: () => Promise.reject(new ControlError({ code: 'unavailable', message })) };
}

function isAnswer(message: unknown): message is ControlAnswer {
  const { kind, id } = (message ?? {}) as Partial<ControlAnswer>;
  return kind === 'controlled' && typeof id === 'number';
}
