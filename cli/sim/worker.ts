/** A thread of `signmesh sim --jobs`. */
import { noTrials } from '../../runner/search/campaign.ts';
import { runTasks } from './thread.ts';

runTasks(noTrials);
