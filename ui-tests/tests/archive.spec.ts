import { execFileSync } from 'child_process';
import { dirname } from 'path';
import { expect } from '@jupyterlab/galata';
import { openPanel, test } from './helpers';

const CRASHES = 500;
/** What a frame may take of the processor for 60 of them a second. */
const FRAME_S = 0.016;

test('500 rows scroll smoothly, and one of them is found and opened', async ({
  page
}) => {
  const storage = await page.request.get('/kerneldoctor/storage');
  const { directory } = (await storage.json()) as { directory: string };
  execFileSync('python', ['write_recordings.py', directory, String(CRASHES)]);

  // Processor time of the page's own thread: whatever else the machine does, it is the same.
  const devtools = await page.context().newCDPSession(page.mainFrame().page());
  await devtools.send('Performance.enable', { timeDomain: 'threadTicks' });
  const spent = async () => {
    const { metrics } = await devtools.send('Performance.getMetrics');
    return metrics.find(({ name }) => name === 'TaskDuration')!.value;
  };

  const panel = await openPanel(page);
  await panel.getByRole('button', { name: 'Search or delete' }).click();
  const history = panel.getByRole('region', { name: 'History' });
  await history.getByRole('button', { name: /^Show all/ }).click();
  const rows = history.getByRole('listitem');
  await expect.poll(() => rows.count()).toBeGreaterThan(CRASHES);

  const frames = 60;
  const before = await spent();
  const scrolled = await panel.evaluate(async (node, frames) => {
    const body = [node, ...node.querySelectorAll('*')].find(
      one => one.scrollHeight > one.clientHeight + 1000
    )!;
    for (let frame = 0; frame < frames; frame++) {
      await new Promise(requestAnimationFrame);
      body.scrollTop += 150;
    }
    return body.scrollTop;
  }, frames);
  expect(scrolled).toBeGreaterThan(100 * frames);
  expect((await spent()) - before).toBeLessThan(frames * FRAME_S);

  await history.getByLabel('Search the history').fill('cell [1439]');
  const day = rows.getByRole('button', { name: /out of memory/ });
  await expect(day).toBeVisible();
  await day.click();
  await expect(panel.getByLabel('Source of cell [1439]')).toBeVisible();

  // The other tests have lists of their own.
  const doctor = ['-m', 'jupyter_kerneldoctor'];
  execFileSync('python', [...doctor, 'delete', '--all', '--yes'], {
    env: { ...process.env, KERNELDOCTOR_DATA_DIR: dirname(directory) }
  });
});
