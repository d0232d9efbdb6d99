import { report } from './fixtures';
import { all, dispose, show } from './harness';

afterEach(dispose);

it.each([
  [3, ['fact 0', 'fact 1', 'fact 2'], '1 cause ruled out'],
  [4, ['fact 0', 'fact 1', 'fact 2'], '1 more fact, 1 cause ruled out'],
  [9, ['fact 0', 'fact 1', 'fact 2'], '6 more facts, 1 cause ruled out']
])(
  'of %i facts shows three, and folds the rest with their count',
  async (count, shown, folded) => {
    const [cause] = report().causes;
    const evidence = Array.from({ length: count }, (_, i) => ({
      ...cause.evidence[0],
      text: `fact ${i}`
    }));
    await show({ report: report({ causes: [{ ...cause, evidence }] }) });
    const facts = all('.jp-KernelDoctor-evidence > li');
    const isFolded = (node: Element) => node.closest('details') !== null;
    const open = facts.filter(node => !isFolded(node));
    expect(open.map(node => node.firstChild!.textContent)).toEqual(shown);
    expect(facts).toHaveLength(count + 1);
    expect(all('details > summary')[0].textContent).toBe(folded);
    expect(all('details')[0].hasAttribute('open')).toBe(false);
  }
);
