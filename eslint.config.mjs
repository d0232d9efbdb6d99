import js from '@eslint/js';
import prettier from 'eslint-config-prettier';
import tseslint from 'typescript-eslint';

export default tseslint.config(
  { ignores: ['**/node_modules', '**/lib', 'jupyter_kerneldoctor'] },
  js.configs.recommended,
  ...tseslint.configs.recommended,
  {
    files: ['src/**/*.{ts,tsx}'],
    ignores: ['src/__tests__/**'],
    languageOptions: {
      parserOptions: { project: './tsconfig.json' }
    },
    rules: {
      '@typescript-eslint/no-floating-promises': 'error'
    }
  },
  {
    files: ['**/*.{ts,tsx}'],
    rules: {
      curly: ['error', 'all'],
      eqeqeq: 'error',
      'max-lines': ['error', 250],
      'prefer-arrow-callback': 'error'
    }
  },
  {
    // It is written by a program.
    files: ['src/rest.ts'],
    rules: { 'max-lines': 'off' }
  },
  {
    // What a recording holds is text, never markup; and all texts can be translated.
    files: ['src/**/*.tsx'],
    rules: {
      'no-restricted-syntax': [
        'error',
        'JSXAttribute[name.name="dangerouslySetInnerHTML"]',
        ...[
          'JSXText[value=/[a-z]{2}/]',
          'JSXAttribute[name.name=/^(alt|aria-label|placeholder|title)$/] > Literal'
        ].map(selector => ({
          selector,
          message: 'Texts go through trans.__().'
        }))
      ]
    }
  },
  prettier
);
