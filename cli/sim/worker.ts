/** A thread of `signmesh sim --jobs`. */
import { noTrials } from '../../simulation/search/campaign.ts';
import { runTasks } from './thread.ts';

runTasks(noTrials);
