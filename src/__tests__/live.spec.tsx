import { ILive } from '../live';
import { News } from '../news';
import { lastsMessage } from '../notifications';
import { nearest, ticks } from '../chart';
import { trans } from './fixtures';
import { all, click, dispose, show, text } from './harness';

const MIB = 2 ** 20;
const GIB = 2 ** 30;

function live(change: Partial<ILive> = {}): ILive {
  return {
    kernel_id: 'k1',
    recording: 'r2',
    is_recorded: true,
    loaded_by: 'startup',
    own_bytes: 900 * MIB,
    limit: { bytes: 1500 * MIB, name: 'container limit' },
    used_bytes: 1070 * MIB,
    left_bytes: 430 * MIB,
    level: 'ok',
    lasts_s: null,
    running: null,
    timeline: {
      started: '',
      samples: { t_s: [0, 10], memory_bytes: [100 * MIB, 900 * MIB] },
      limit: { bytes: 1500 * MIB, name: 'container limit' },
      cells: [{ execution_count: 7, start_s: 2, end_s: 9 }],
      death_s: null
    },
    cells: [
      cell(7, 380, 100, 'df = load()'),
      cell(8, 20, 300, '<img src=x onerror=1>\u001b')
    ],
    variables: {
      execution_count: 7,
      objects: [
        {
          name: 'df',
          type: 'DataFrame',
          bytes: 380 * MIB,
          shape: [3, 2],
          items: null,
          device: null,
          hidden: false
        }
      ]
    },
    children: { count: 2, bytes: 50 * MIB },
    gpus: [],
    others: [{ kernel_id: 'k9', bytes: 170 * MIB }],
    ...change
  };
}

function cell(count: number, took: number, kept: number, source: string) {
  return {
    execution_count: count,
    cell_id: `c${count}`,
    start_s: count,
    end_s: count + 1,
    peak_bytes: took * MIB,
    took_bytes: took * MIB,
    kept_bytes: kept * MIB,
    source,
    error: null
  };
}

describe('the live view', () => {
  afterEach(dispose);

  it('says what is left, who holds it, and what the cells took', async () => {
    await show({ rows: [], live: live() });
    expect(text()).toContain(
      '430 MiB left of 1.5 GiB (container limit); cell [7] took 380 MiB.'
    );
    expect(text()).toContain('This kernel 900 MiB, all others 170 MiB');
    expect(text()).toContain('2 processes it started');
    expect(text()).toContain('other.ipynbShut down170 MiB');
    expect(all('svg image, svg img, td img')).toEqual([]);
    const cells = () => all('tbody tr').map(row => row.textContent);
    expect(cells()[0]).toContain('[8] <img src=x onerror=1>\u241b');
    await click('Peak');
    expect(cells()[0]).toBe('[7] df = load()380 MiB+100 MiB1.0 s');
  });

  it('tells what only the kernel has reserved from what others use', async () => {
    const limit = {
      bytes: 1500 * MIB,
      name: 'limit of the process, ulimit -v'
    };
    await show({ rows: [], live: live({ limit, reserved_bytes: 500 * MIB }) });
    expect(text()).toContain('This kernel 570 MiB; 500 MiB reserved, not used');
    expect(text()).not.toContain('all others');
  });

  it('meters each graphics card: what is left, and whose the rest is', async () => {
    const card = (index: number, own: number, used: number) => ({
      index,
      name: 'NVIDIA H200 <b>',
      total_bytes: 8 * GIB,
      used_bytes: used * GIB,
      own_bytes: own * GIB
    });
    await show({
      rows: [],
      live: live({
        gpus: [
          card(0, 2, 6),
          card(1, 0, 0),
          { ...card(2, 0, 0), used_bytes: null }
        ]
      })
    });
    expect(text()).toContain(
      'GPU 0 (NVIDIA H200 <b>): 2.0 GiB left of 8.0 GiB'
    );
    expect(text()).toContain(
      'GPU 1 (NVIDIA H200 <b>): 8.0 GiB left of 8.0 GiB'
    );
    expect(text()).toContain(
      'GPU 2 (NVIDIA H200 <b>): how much of it is in use is not known'
    );
    const widths = (label: string) =>
      all(`[aria-label="${label}"] *`).map(part => part.getAttribute('style'));
    expect(widths('Memory of GPU 0')).toEqual(['width: 25%;', 'width: 50%;']);
    expect(widths('Memory of GPU 1')).toEqual(['width: 0%;', 'width: 0%;']);
  });

  it('says how long memory lasts while a cell grows', async () => {
    const running = { execution_count: 9, cell_id: 'c9', seq: 9 };
    await show({ rows: [], live: live({ lasts_s: 40, running }) });
    expect(text()).toContain('at the pace of cell [9] that lasts 40 s');
  });

  it('is not shown for another kernel, and without a limit tells the use', async () => {
    await show({ rows: [], live: live({ kernel_id: 'k2' }) });
    expect(all('.jp-KernelDoctor-usage')).toEqual([]);
    dispose();
    await show({ rows: [], live: live({ limit: null, left_bytes: null }) });
    expect(text()).toContain('The kernel uses 900 MiB.');
  });
});

it('reads the list again when something was noted, and not before', async () => {
  const { counted, model, feed, tell } = await show({ live: live() });
  new News(feed, model, () => null);
  await tell(live({ noted_mono_s: null }));
  await tell(live({ noted_mono_s: null, own_bytes: 1 }));
  const before = counted();
  await tell(live({ noted_mono_s: 71.5 }));
  expect(counted()).toBe(before + 1);
  await tell(live({ noted_mono_s: 71.5, own_bytes: 2 }));
  // Another notebook comes to the front, and the first again.
  await tell(live({ kernel_id: 'k2', recording: 'r9', noted_mono_s: null }));
  await tell(live({ noted_mono_s: 71.5 }));
  expect(counted()).toBe(before + 1);
});

it('warns only of what is gone within a minute', () => {
  const running = { execution_count: 9, cell_id: 'c9', seq: 9 };
  const said = (lasts_s: number | null) =>
    lastsMessage(trans, live({ running, lasts_s }), 'a.ipynb');
  expect(said(40)).toBe(
    'Memory is running out: 430 MiB left, cell [9] of a.ipynb takes that in some 40 s.'
  );
  expect(said(7.2)).toContain('in some 7 s.');
  expect(said(61)).toBeNull();
  expect(said(null)).toBeNull();
});

it('marks the axis with round numbers, and finds the nearest sample', () => {
  expect(ticks(826)).toEqual([0, 500]);
  expect(ticks(1.77)).toEqual([0, 0.5, 1, 1.5]);
  expect(nearest(live().timeline!, 8)).toEqual({
    t_s: 10,
    memory_bytes: 900 * MIB,
    cell: ''
  });
});
