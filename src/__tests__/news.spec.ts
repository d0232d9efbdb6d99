import { Signal } from '@lumino/signaling';
import { IRecordingRow } from '../api';
import { ILive, ILiveFeed } from '../live';
import { News } from '../news';
import { hangMessage } from '../notifications';
import { row, trans } from './fixtures';

const STUCK = row({
  state: 'stuck',
  ended: null,
  headline: 'The kernel is stuck in cell [3] on `with lock`.'
});

/** A page whose feed and list can be told what they say; `sees` is whether the user sees the panel. */
function page() {
  const feed = {
    changed: new Signal<ILiveFeed, void>({} as ILiveFeed),
    shown: null as ILive | null
  };
  const said = { stuck: null as IRecordingRow | null, sees: false };
  let lists = 0;
  const model = {
    refresh: async () => void (lists += 1),
    stuckCase: () => said.stuck
  };
  const told: string[] = [];
  const news = new News(feed, model, ({ headline }) => {
    if (said.sees) {
      return null;
    }
    told.push(headline);
    return { dismiss: () => void told.push('gone') };
  });
  /** The kernel runs this cell, and something was noted at this time. */
  const now = async (
    seq: number | null,
    noted: number | null,
    kernel = 'k1'
  ) => {
    const running = seq ? { seq, execution_count: seq, cell_id: 'c' } : null;
    const recording = `recording of ${kernel}`;
    const live = { kernel_id: kernel, recording, is_recorded: true };
    feed.shown = { ...live, running, noted_mono_s: noted };
    feed.changed.emit();
    await Promise.resolve();
    await Promise.resolve();
  };
  return { said, told, now, news, lists: () => lists };
}

it('tells once that a cell is stuck, and takes it back when the cell is over', async () => {
  const { said, told, now, lists } = page();
  await now(3, null);
  expect(lists()).toBe(0);
  said.stuck = STUCK;
  await now(3, 10);
  await now(3, 10);
  // The recorder looks again after a minute.
  await now(3, 70);
  expect([told, lists()]).toEqual([[STUCK.headline], 2]);
  await now(null, 75);
  expect(told).toEqual([STUCK.headline, 'gone']);
  // It is another wait when the cell is run again.
  await now(4, 90);
  expect(told).toHaveLength(3);
});

it('takes back what the panel says as soon as that is looked at, and does not say it again', async () => {
  const { said, told, now, news } = page();
  said.stuck = STUCK;
  await now(3, 10);
  news.seen();
  await now(3, 70);
  expect(told).toEqual([STUCK.headline, 'gone']);
});

it('tells nothing of a cell that works, nor what the user sees', async () => {
  const { said, told, now } = page();
  await now(3, 10);
  said.stuck = STUCK;
  said.sees = true;
  await now(3, 70);
  expect(told).toEqual([]);
  said.sees = false;
  await now(3, 190);
  expect(told).toEqual([STUCK.headline]);
});

it('takes it back when the cell goes on, but not when another notebook comes to the front', async () => {
  const { said, told, now } = page();
  said.stuck = STUCK;
  await now(3, 10);
  await now(1, null, 'k2');
  expect(told).toEqual([STUCK.headline]);
  said.stuck = null;
  await now(3, 12);
  expect(told).toEqual([STUCK.headline, 'gone']);
});

it('says in the words of the report where it is stuck', () => {
  expect(hangMessage(trans, STUCK)).toBe(
    'The kernel is stuck in cell [3] on “with lock”. (train.ipynb)'
  );
});
