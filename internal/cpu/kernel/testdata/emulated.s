# The program that the emulator runs in TestEmulated: a ROM of 64 KiB. It reads the disk to memory,
# enters 64-bit mode, enables the tiles, calls the kernels of a list of jobs, and writes their
# results to port 0xe9, which the emulator copies to its output. TestEmulated defines image,
# sectors, pages, stack, jobs, results and size.

# Bochs 3.0 up to August 2026 reads the signed bytes of TDPBUSD as unsigned ones. Correct this in
# cpu/avx/amx.cc: Bit32s(xbyte[i]) and Bit32s(ybyte[i]) must be Bit32s((Bit8s) xbyte[i]) and so on.

.set rom, 0xffff0000

.code16
start:
	cli
	lgdtl %cs:(table - start)
	movl %cr0, %eax
	orl $1, %eax                    # protected mode
	movl %eax, %cr0
	ljmpl $8, $(rom + protected - start)

.code32
protected:
	movw $16, %ax
	movw %ax, %ds
	movw %ax, %es
	movw %ax, %ss

	cld
	movl $image, %edi
	xorl %ebx, %ebx                 # the first of the next 256 sectors
read:
	movw $0x1f2, %dx
	xorb %al, %al                   # 256 sectors
	outb %al, %dx
	movl %ebx, %eax
	incw %dx
	outb %al, %dx
	shrl $8, %eax
	incw %dx
	outb %al, %dx
	shrl $8, %eax
	incw %dx
	outb %al, %dx
	shrl $8, %eax
	orb $0xe0, %al                  # by the number of the sector
	incw %dx
	outb %al, %dx
	movb $0x20, %al                 # READ SECTORS
	incw %dx
	outb %al, %dx
	movl $256, %ebp
sector:
	movw $0x1f7, %dx
	inb %dx, %al
	andb $0x88, %al                 # not busy, data ready
	cmpb $8, %al
	jne sector
	movw $0x1f0, %dx
	movl $256, %ecx
	rep insw
	decl %ebp
	jnz sector
	addl $256, %ebx
	cmpl $sectors, %ebx
	jb read

	movl %cr4, %eax
	orl $0x40620, %eax              # PAE, OSFXSR, OSXMMEXCPT, OSXSAVE
	movl %eax, %cr4
	movl $pages, %eax
	movl %eax, %cr3
	movl $0xc0000080, %ecx          # EFER
	rdmsr
	orl $0x100, %eax                # LME
	wrmsr
	movl %cr0, %eax
	andl $0xfffffff3, %eax          # without EM, TS
	orl $0x80000002, %eax           # PG, MP
	movl %eax, %cr0
	ljmpl $24, $(rom + long - start)

.code64
long:
	movq $stack - 64, %rsp
	xorl %ecx, %ecx
	xorl %edx, %edx
	movl $0x600e7, %eax             # XCR0: x87, SSE, AVX, AVX-512, tiles
	xsetbv
	movq $jobs, %rbx                # a job: the function and twelve arguments
next:
	subq $96, %rsp
	leaq 8(%rbx), %rsi
	movq %rsp, %rdi
	movl $12, %ecx
	rep movsq
	movq %rbx, stack - 8            # the kernel keeps no register
	call *(%rbx)
	addq $96, %rsp
	movq stack - 8, %rbx
	addq $104, %rbx
	cmpq $0, (%rbx)
	jne next
	movw $0xe9, %dx
	movq $results, %rsi
	movl $size, %ecx
	rep outsb
	movw $0x8900, %dx               # ends the emulator
	movl $(rom + shutdown - start), %esi
	movl $8, %ecx
	rep outsb
	hlt

shutdown:
	.ascii "Shutdown"
.balign 8
descriptors:
	.quad 0
	.quad 0x00cf9a000000ffff        # 8: code of 32 bits
	.quad 0x00cf92000000ffff        # 16: data
	.quad 0x00af9a000000ffff        # 24: code of 64 bits
table:
	.word 31
	.long rom + descriptors - start
.org 0xfff0
.code16
	jmp start
.org 0x10000
