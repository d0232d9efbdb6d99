import { ILiveFeed } from '../live';
import { Notebooks } from '../notebooks';
import { Reruns } from '../reruns';
import { OLD, openNotebook, report, trackerOf } from './fixtures';

it('counts the cells as they will be numbered', () => {
  const { panel } = openNotebook([
    { id: 'c1', source: '# Training', text: true },
    { id: 'c2', source: 'import torch' },
    { id: 'c3', source: ' ' },
    { id: 'c8', source: OLD },
    { id: 'c9', source: 'later()' }
  ]);
  const tracker = trackerOf(panel);
  const notebooks = new Notebooks(tracker, jest.fn(), '/srv/notebooks');
  const reruns = new Reruns(notebooks, {} as ILiveFeed);
  expect(reruns.lastCell(report())).toBe(2);
});
