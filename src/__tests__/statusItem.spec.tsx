import { framePromise } from '@jupyterlab/testing';
import { Signal } from '@lumino/signaling';
import { Widget } from '@lumino/widgets';
import { ILive, ILiveFeed } from '../live';
import { StatusItem } from '../statusItem';
import { trans } from './fixtures';

const FEW = {
  is_recorded: true,
  limit: { bytes: 700 * 2 ** 20, name: 'memory limit' },
  left_bytes: 2 ** 20,
  level: 'critical'
} as ILive;

async function shown(live: ILive | null): Promise<string> {
  const feed = { shown: live, changed: new Signal({}) } as unknown;
  const item = new StatusItem(feed as ILiveFeed, trans, () => undefined);
  Widget.attach(item, document.body);
  await framePromise();
  await item.renderPromise;
  const said = item.node.textContent ?? '';
  item.dispose();
  return said;
}

it('says what is left below the limit', async () => {
  expect(await shown(FEW)).toBe('1.0 MiB left');
});

it('says nothing of a kernel that has ended', async () => {
  expect(await shown({ ...FEW, is_recorded: false })).toBe('');
});
