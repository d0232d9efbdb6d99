import { OLD, report } from './fixtures';
import { all, button, dispose, show, text } from './harness';

afterEach(dispose);

const caller = { cell_id: null, file: null };

it('shows the statement to blame, in whichever cell it stands', async () => {
  const statement = {
    execution_count: 2,
    cell_id: 'c2',
    line: 3,
    end_line: 3,
    file: null,
    source: null,
    function: null,
    via: [
      { ...caller, execution_count: 8, line: 1, function: null },
      { ...caller, execution_count: 4, line: 9, function: 'fit' }
    ],
    cell_source: 'def step(x):\n    y = net(x)\n    kept.append(y)'
  };
  await show({ report: report({ statement }) });
  expect(all('.jp-mod-culprit').map(node => node.textContent)).toEqual([
    '    kept.append(y)'
  ]);
  expect(text()).toContain('Called from cell [4], line 9 · cell [8], line 1.');
  await show({
    report: report({
      statement: { ...statement, file: '/home/me/train.py', cell_source: null }
    })
  });
  expect(text()).toContain('In train.py, line 3.');
});

it('goes to the cell of the statement', async () => {
  const statement = {
    execution_count: 8,
    cell_id: 'c8',
    line: 1,
    end_line: 1,
    file: null,
    source: null,
    function: null,
    via: [],
    cell_source: OLD
  };
  await show({ report: report({ statement }) });
  expect(all('.jp-mod-culprit').map(node => node.textContent)).toEqual([
    OLD.split('\n')[0]
  ]);
  expect(button('Go to cell [8]')).toBeDefined();
});
