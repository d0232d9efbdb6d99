import { IFrame, IInspection } from '../rest';

/** A kernel that waits for a lock, and its child for another one. */
export function inspection(change: Partial<IInspection> = {}): IInspection {
  const where = { short_file: '/tmp/ipykernel_1/2.py', in_cell: true };
  const idle = {
    state: 'S',
    waits_in: 'do_epoll_wait',
    doing: 'waits for messages'
  };
  return {
    recording: 'r2',
    pid: 1,
    kernel_id: 'k1',
    notebook: '/srv/notebooks/work/train.ipynb',
    cell: {
      execution_count: 8,
      cell_id: 'c8',
      source: 'def wait():\n    lock.acquire()\nwait()',
      line: 2,
      line_source: '    lock.acquire()',
      running_s: 24.6
    },
    threads: [
      {
        thread_id: 1,
        name: 'python',
        main: true,
        serves_the_kernel: false,
        state: 'S',
        waits_in: 'futex_do_wait',
        doing: 'waits for a lock or for another thread',
        frames: [
          frame('wait', 2, 'lock.acquire()', where),
          frame('<module>', 3, 'wait()', where)
        ]
      },
      {
        ...{ thread_id: 2, name: null, main: false, serves_the_kernel: true },
        ...{ ...idle, frames: [frame('select', 468, null)] }
      },
      {
        ...{ thread_id: 3, name: 'ZMQbg/IO/0', main: false, ...idle },
        ...{ serves_the_kernel: false, frames: [] }
      }
    ],
    children: [
      {
        pid: 4711,
        name: 'python',
        forked: true,
        rss_bytes: 40 * 2 ** 20,
        cpu_s: 0.5,
        state: 'S',
        waits_in: null,
        doing: 'waits for a lock or for another thread',
        frames: [frame('child', 7, 'with lock:', where)]
      }
    ],
    no_stacks: null,
    stuck: null,
    ...change
  };
}

export function frame(
  name: string,
  line: number,
  code: string | null,
  where: Partial<IFrame> = {}
): IFrame {
  return {
    file: '/usr/lib/python3/selectors.py',
    short_file: 'selectors.py',
    in_cell: false,
    execution_count: where.in_cell ? 8 : null,
    function: name,
    line,
    code,
    ...where
  };
}
