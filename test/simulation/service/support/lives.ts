/** A process of a simulated world without a world: its time, its loop, and the fate of its calls. */
import { randomStream } from '../../../../simulation/cluster/random.ts';
import { VirtualTime } from '../../../../simulation/cluster/virtual-time.ts';
import { type PortFate, ProcessLife } from '../../../../simulation/service/process-life.ts';
import { RunLoop } from '../../../../simulation/service/run-loop.ts';

export interface LoneLife {
  readonly life: ProcessLife;
  readonly time: VirtualTime;
  readonly loop: RunLoop;
}

/** `fate`: of every call of its ports. */
export function loneLife(time = new VirtualTime(), fate?: () => PortFate | undefined): LoneLife {
  const loop = new RunLoop(time);
  const life: ProcessLife = new ProcessLife(
    {
      time,
      nowMs: () => time.nowMs(),
      callLeaves: () => fate?.(),
      crash: () => life.die(),
      note: () => undefined,
    },
    'worker',
    'boot 1',
    randomStream('ports', 'life'),
  );
  return { life, time, loop };
}
