// Written by scripts/character-classes.mjs with tokenizers 0.23.2. Do not edit.

/** Places of blocks (u16, 8704 of them) and 230 blocks of 128 classes: deflated, in base64. */
export const CLASS_TABLE =
  '7Z2Do+w8FsB/900nXdveu7atWdu29a1t27Zt27Zt7/4fu9OmbZrGbWf69ibnvXuLJCc5OclR0gsHHGNFwRpByYk4MSfhpJyMk3MK' +
  'TsmpODWn4bScjtNzBs7ImTgzZ+GsnI2zcw7Oybk4N4ccch7Oy/k4Pxeo7g65IBfiwlyEi3IxLs4luCSX4tJchstyOS7PFbgiV+LK' +
  'XIWrcjWuzjXYSLgm12qvr8112usGrsv1uD434Iby/kbcmJtwU27Gzav7w53ALXaE5yjCLauft+LW3Ibbcjtuzx24I3fiztyFux5n' +
  'fbnbgH/3AduW3J17cE/uVV3fm/twX+7H/XkAD+QEHsSD2fAQHsrDeDiP4JE8qsr3aB7DY3kcj+cJPJEn8WSewlN5Gk/nGTyTZ/Fs' +
  'nsNzeR7P5wW8kBfxYl7CS3kZG17OK3glr2LDq3kNr+V1vJ43sOGNvIk38xbeyoa38XbeodHrnbyLQ94d3LP3DCj+3lHjdUJ79b4d' +
  'js/7PWO3hQ/wQT7Eh6tnH2HDR/kYH+cTM/PvJw3PPsWnF8HVW/hM1aLPVj8/F1Ti83xhJM4vtldfkr+/zFf4Kl/j6/+TX9/gm3yL' +
  'b/Mdvsv3+H6b9wf8cFDTj9jwY37CT6u7n8mnP2fDL+T1LznkV/xaKfMbfsvv2PB7/tA++2NC23X+ypBhWfCn0TX8mUP+Mlv7/roH' +
  'mvytvfp7hOzfwj8876eAf46u4V+LkSwZMmTIkCFDhgwZMmTIkCFDhgwZMmTIkCFDhgwZMmTIkCFDhgwZMmTIkCFDhgwZMiwV/s1/' +
  'MhUyZMiQIUOGDBkyZDgC0KaDYwcHxxikA+1+1Sb5oLCm+v3amuxIjPhF2wK2RVdi2xYb+ua5FXdzUSSC/4EHZCl5sf23raMoupt1' +
  '0WYrGgz1q+piLbZ5hBCiKRPSpgZfsU4HSbm6FYVsdO/duCRc7wap4g3tvkvqI4EY8Fe547SlkaBYw7aXyElS8Wv1c21l5SKEuDUP' +
  'Ofi6zoQcu/gUO5Z+bkKhTAKMm4XRQBiZ2uUqmFBJDElJWf/r8bs5Na9xJbVyT316MrawLy+EKMX8CdH2oP69bRv1RdeeihIDYvga' +
  '6BoMZuuRgkXY5HF4JZIVwNrkKleXv70b8osLm/bemZ/+4q20dRT7lXLgnSl5TAw4xaDOLR2UWWCiU0eh+r+DQLUMqzOXKp9XNOvo' +
  'V9OaAf5tuWY+br/3RodfFvHib/4hSVuPV10T7UrUtrXPpRVlyv6CQw9JEP5+/6uG1PjFgD81+ncTvSsZR/8hfrX/TZ8s9Edo7aBU' +
  'eL/BIwvTXNVvhnpOQ/+Gzdv+l7ZVooe6qSGA/MPnav87/LJSmtXVRv+WHD36h+EnAD/tAAzmX6n3P4T9jAvAAH+7xpXdotzHry8E' +
  'ff5XB1d4CUHHrM2QK2qBIsR79NdW8ehlTwiDftCis7CZPUk+d1Ee9VWpCrJGvxeY8HuVHQwKgMZCK9PQVQSuc1mnh00Ds4goXYQF' +
  '6YH0lvukNFK/E/p4K/pDJyOFIhUHArcvPVVJse1goLpdSDOKCNOkssDE/0uiEWDqlIkY39D8YXiYqB+jKII6RYwTGUxTVE3FLKnh' +
  'U2a0GZbIo8PeHrhXSybFjmImWde/3sJqN2wc5a3rK7XAHyN+PTZoIxZqZd6geTnkcyV1zOv5LLzQ1R9igpVT8kMw/dHFrVH8Blvh' +
  'fX9kbH/c+QfL3Bj53/ZvpLsCD6OWgfwpAt1j0fpPigPA6kDwzq9hI73YNUQR/h5ri2PXHxehdWEa1z5FXyvWsfK2ymxcxGxOnlI1' +
  'IUScf3a8rhgc44hBN0U8YnkwNjqXgKkX32j4sOMPPf7hy09Rg618Uy6sfu0eeV8FQtX7uj7kvcrfXUS2n/+gS851Ur4+iFxeB/lX' +
  'iv9xu2I49Y0EezbcZm41/MZybCKwdVROCWHLoawIXo1BNZtrKtcZmgDO2mhmeFKxjvGX5BSVViPSLlqyRKrssiU7iD8XXVi4aDZS' +
  'SAE7bh9EsIyRXV0X60ridsMQqn9Ql1mn2z8Wd2fpM5CG0Y+43+W0CruYmv8O6k6u/FNFtleSR4bS5jKQawf0KEdaqKctrg8z+6sk' +
  'wcPtk7H+7vCVMiwfkWtp9Ko78Vo9nSdlAvwTzOdRDklD+X7k3CC/oiSB0HwiCGduUU60XUaNqsSRUe/hWJtM9Ew75XmNSDhwyM2R' +
  'Bpnd7oncVsKa5rmta5UGv+4CikL1Dth9YSU92yV5/vTtlSn8v/b1xLbbpd4OqcbbQjC6/YXR/iU9/j7WmWWzJ0vzfI6M9huxqrWb' +
  'djrYey6Sdh618dR2C4JwzOEe/m4EVar1F0Lw6H9R8VXV6RW7H3I6n5ziiw4eH+t8TXLNT1lo6gDc3AEeTxqcBZCPBpsxMaihdLvR' +
  'FtSvvbZlXxySop+Z5JPPnzeJfriUoHuIPTDF+ZpZo7g2ARLGFIG2JeZneLiXJU1W1+gn+yWnc27uwRdZ+vXDsXOq9JAgxHJyMkur' +
  'N68i+Cn0fEW4ftJeR3oFpva7Tj1FdIYNCwyH6Zkx838qe894sKt/zzbOZDiqqN2TvH1sgvXPU35Yv3v9jWgGU3qLFGkVtxNHGtB4' +
  '+daXIZDOyf4+a+NlnS5/Uch+o335H+sOqPZ80+Y4MSgaw1DxRfj97u3W0tI3MB7h4nu/CqUfbnHTjvc09Mc7/x3832PoYL6aKTa5' +
  'Y3N3dPxT3/KU4DLpETRUW7HZJ7r/0Npk6e/2mipHa/9BjOCrN/YKo5svTf32eSCVwXXPF+3Ab9R8i7PqXe2MmN/h+y/DfPDBI177' +
  'bsOHwIHXePbHtz4Z4gMJ3m/NhlJ6FFKXGsZPoP8wnNFQEvW8uTx96rF9YyLcwwEvtdOEyfKnOUdjb0uavBo02RQfSjz/WprOv/bO' +
  'n7bKR9cCfbaoCMK1cIT6CQR53FHu5dYCIp7FZYrJr3ChRt/SuziPR12d5xep+wnS0Fs2s2v1hqzro/uvbQqasf99mnv1obCW+IwM' +
  'fQJb/Fc70X8ndsVPoh/7lF3PcCgrX8+Wwk2DZr0rq3jsqP08ofYdiTNU4BRRIv4zGOqXLgYHkEXydzU8E3sh9lp0ezzxnciNdYNz' +
  'VSLG3gjyOAd9RWVq+zs8iNtpEnStEqWbviHVtxPbub4fb8ljzldKXKD6O1xiGPKCYunM058Qfp9k/i7/fMIUUb8FLaW7iceOxId5' +
  'A71VNVrUZptoevu+57bH8Q4rz8zn2SPrd9m/keqdUt6iXzhdjNbg0PEv35w8MzX/zmCf7FTZmHgNKlMPJNv8oeP7h/a5uWXs/5kX' +
  'f8LwczSS0ZUZpzH46h9kmX+807lk1yxv3d9lYsgd+Zj2Ew+0nc/wfDBlou+e7Hafn2oulvrWXjU84KlkoZ1bWHw55v3e7Fuv/uQ4' +
  '0+0rQ0IZEx6qj8yA/NZMt2NPnsk2oEvrD+33bPo7Af1lus8fhpSZgdZHoEz3fRfT1pa1529MHJmS6xRv1ghzIdnI0D+XWrqk1syC' +
  '1vNFKDXTfKLZ9M0s9RVJfw8gxS7ZuSiNbX4/tKXrc2Lm9pSj47dzawFLxl9tvdqxGqRGVXBu8JnmmETsMjXFyQ81FLn4eNmY4Enj' +
  'Vd1be5hck/cxIcONWc2fdhCKP6S+7+VvnzVbK/S5oH3YHavDANf7Kcm/dP/1DBJ3bM1zt34ZXrL9+4v3Fe+c2w+9u8jyTuIf7J+i' +
  'Sfr/kUl6//8L'
